/** What the user's own configuration says of the store, once it has been read. Knows nothing else: every command loads it. */

let configured: string | undefined;

/** A word weaker than `--store` and `$PAWL_STORE`. */
export function configureStore(store: string | undefined): void {
  configured = store;
}

export function configuredStore(): string | undefined {
  return configured;
}
