/**
 * One signal that aborts as soon as one of several does, for as long as somebody listens.
 *
 * `AbortSignal.any` would do, but the platform keeps its result for ever once something listens to it and no source aborts:
 * a little of each turn of a server that runs for months.
 */

export interface JoinedSignal {
  signal: AbortSignal;
  /** Nobody listens any more: the sources forget it. */
  release(): void;
}

export function joinSignals(...sources: readonly AbortSignal[]): JoinedSignal {
  const joined = new AbortController();
  const abort = () => {
    joined.abort(sources.find(({ aborted }) => aborted)?.reason);
    release();
  };
  const release = () => {
    for (const source of sources) source.removeEventListener("abort", abort);
  };
  for (const source of sources) source.addEventListener("abort", abort, { once: true });
  if (sources.some(({ aborted }) => aborted)) abort();
  return { signal: joined.signal, release };
}
