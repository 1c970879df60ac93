/** Loaded into a `pawl` by NODE_OPTIONS: waits of the runtime take a fiftieth of their time. */
const { setTimeout: real } = globalThis;
const quick = (fn: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => real(fn, ms / 50, ...args);
globalThis.setTimeout = Object.assign(quick, real) as typeof setTimeout;
