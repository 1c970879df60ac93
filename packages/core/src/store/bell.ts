/** A bell that remembers: news that came while something was read is not lost. For one listener. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  readonly ring = (): void => {
    this.#rung = true;
    this.#wake?.();
  };

  /** What came until now is known. */
  heard(): void {
    this.#rung = false;
  }

  async arrive(): Promise<void> {
    if (this.#rung) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}
