/**
 * Searches one target: takes an input of the corpus, changes it, runs it, keeps it where it has reached a new block.
 *
 * Coverage is asked after a handful of executions; where it has grown, each of them runs once more alone. What an input did is
 * the target's to judge: whatever it throws is a failure, told once for each place it comes from, and made small.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Coverage } from "./fuzz-coverage.ts";
import { mutated } from "./fuzz-mutation.ts";
import type { Target } from "./fuzz-target.ts";
import { Random } from "./random.ts";

export interface Search {
  target: string;
  seconds: number;
  seed: number;
  /** Where the input under way stands, for whoever finds that it never ends: a count, a length, bytes. */
  shared: SharedArrayBuffer;
}

export interface Failure {
  words: string;
  times: number;
  /** Of the smallest input found. */
  base64: string;
}

export interface Findings {
  executions: number;
  corpus: number;
  blocks: number;
  /** The slowest execution, ms of this thread's processor, and its input. */
  slowest: { ms: number; base64: string };
  failures: Failure[];
}

const portion = 16;
/** Of the processor, not of the clock: other programs take their share. */
const slowMs = 1_000;
/** Executions that making one failure small may take. */
const patience = 400;

export class Loop {
  readonly #target: Target;
  readonly #random: Random;
  readonly #coverage: Coverage;
  readonly #seen = new Set<string>();
  readonly #corpus: Uint8Array[];
  readonly #failures = new Map<string, Failure & { input: Uint8Array }>();
  readonly #head: Int32Array;
  readonly #body: Uint8Array;
  #executions = 0;
  #slowest = { ms: 0, base64: "" };

  constructor(target: Target, coverage: Coverage, { seed, shared }: Pick<Search, "seed" | "shared">) {
    this.#target = target;
    this.#coverage = coverage;
    this.#random = new Random(seed);
    this.#corpus = [...target.seeds];
    this.#head = new Int32Array(shared, 0, 2);
    this.#body = new Uint8Array(shared, 8);
  }

  /** `enough` looks at the number of failures and may end it sooner. */
  async run(seconds: number, enough = (_failures: number) => false): Promise<Findings> {
    for (const input of this.#corpus) await this.#try(input);
    this.#fresh();
    const until = performance.now() + seconds * 1_000;
    while (performance.now() < until && !enough(this.#failures.size)) {
      const inputs = Array.from({ length: portion }, () => this.#next());
      for (const input of inputs) await this.#try(input);
      const fresh = this.#fresh();
      if (fresh.size > 0) await this.#keep(inputs, fresh);
    }
    for (const failure of this.#failures.values()) await this.#shrink(failure);
    return {
      executions: this.#executions,
      corpus: this.#corpus.length,
      blocks: this.#seen.size,
      slowest: this.#slowest,
      failures: [...this.#failures.values()].map(({ words, times, input }) => ({
        words,
        times,
        base64: base64(input),
      })),
    };
  }

  #next(): Uint8Array {
    // Newer ones were found by what came before: they are nearer to what has not been reached.
    const newest = this.#corpus.slice(-20);
    const from = this.#random.pick(this.#random.chance(0.5) ? newest : this.#corpus);
    return mutated(this.#random, from, this.#corpus, this.#target.words);
  }

  /** Those that reach what is new, the shortest first; each block needs one. */
  async #keep(inputs: readonly Uint8Array[], fresh: Set<string>): Promise<void> {
    for (const input of inputs.toSorted((a, b) => a.length - b.length)) {
      await this.#try(input);
      const reached = this.#coverage.take();
      const news = [...fresh].filter((block) => reached.has(block));
      if (news.length > 0) this.#corpus.push(input);
      for (const block of news) fresh.delete(block);
    }
  }

  /** What has run since the last look and had never run before. */
  #fresh(): Set<string> {
    const fresh = this.#coverage.take();
    for (const block of fresh) {
      if (this.#seen.has(block)) fresh.delete(block);
      else this.#seen.add(block);
    }
    return fresh;
  }

  async #try(input: Uint8Array): Promise<void> {
    const problem = await this.#problemOf(input);
    if (problem === undefined) return;
    const known = this.#failures.get(problem.key);
    if (known) {
      known.times += 1;
      if (input.length < known.input.length) known.input = input;
    } else this.#failures.set(problem.key, { words: problem.words, times: 1, base64: "", input });
  }

  async #problemOf(input: Uint8Array): Promise<{ key: string; words: string } | undefined> {
    this.#executions += 1;
    this.#body.set(input);
    this.#head[1] = input.length;
    Atomics.add(this.#head, 0, 1);
    const before = process.cpuUsage();
    try {
      await this.#target.run(input);
    } catch (error) {
      return { key: keyOf(error), words: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
    const ms = process.cpuUsage(before).user / 1_000;
    if (ms > this.#slowest.ms) this.#slowest = { ms, base64: base64(input) };
    return ms > slowMs ? { key: "slow", words: `took ${ms} ms` } : undefined;
  }

  /** Leaves out pieces, ever smaller ones, as long as it fails in the same place. */
  async #shrink(failure: { input: Uint8Array }): Promise<void> {
    const key = [...this.#failures].find(([, each]) => each === failure)?.[0];
    let tries = 0;
    for (let size = failure.input.length >> 1; size > 0; size >>= 1) {
      for (let at = 0; at < failure.input.length && tries < patience; ) {
        tries += 1;
        const shorter = Buffer.concat([failure.input.subarray(0, at), failure.input.subarray(at + size)]);
        if ((await this.#problemOf(shorter))?.key === key) failure.input = new Uint8Array(shorter);
        else at += size;
      }
    }
  }
}

/** The same place in the code, whatever the values were. */
function keyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = /packages\/(?:core|cli)\/src\/\S+/.exec(error.stack ?? "")?.[0] ?? "";
  const first = error.message
    .split("\n")[0]
    ?.replace(/"[^"]*"|\d+/g, "#")
    .slice(0, 80);
  // Where a stack overflows is chance.
  return error instanceof RangeError ? `${error.name} ${first}` : `${error.name} ${first} ${frame}`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

if (parentPort) {
  const search = workerData as Search;
  // The parsers that the command line's targets stand on: behind them is most of what an input can reach.
  const coverage = new Coverage(/\/((?:packages\/(?:core|cli)\/src|node_modules\/(?:jsonc-parser|yaml))\/.+)$/);
  const { targetOf } = await import("./fuzz-target.ts");
  parentPort.postMessage(await new Loop(await targetOf(search.target), coverage, search).run(search.seconds));
}
