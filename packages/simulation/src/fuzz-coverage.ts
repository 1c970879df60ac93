/** Which blocks of some files have run: V8's own block coverage of this thread, as feedback for a search. */
import { Session } from "node:inspector";

interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}

interface ScriptCoverage {
  url: string;
  functions: { ranges: Range[] }[];
}

export class Coverage {
  readonly #session = new Session();
  readonly #within: RegExp;
  /** By function: every block that some run has left out. V8 tells of these alone, and not where all of a function runs. */
  readonly #blocks = new Map<string, Map<string, Range>>();

  /**
   * `within`: the files that count; what it captures names one. Only what is compiled from now on is counted by blocks: to be
   * made before those files are loaded.
   */
  constructor(within: RegExp) {
    this.#within = within;
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** The blocks that have run since this was asked last. Costs milliseconds: ask after some executions, not after each. */
  take(): Set<string> {
    const reached = new Set<string>();
    // Within one thread the answer comes before `post` returns.
    this.#session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error) throw error;
      for (const { url, functions } of answer.result as ScriptCoverage[]) {
        const [, file] = this.#within.exec(url) ?? [];
        if (file !== undefined) for (const { ranges } of functions) this.#look(file, ranges, reached);
      }
    });
    return reached;
  }

  #look(file: string, [whole, ...parts]: readonly Range[], reached: Set<string>): void {
    if (!whole || whole.count === 0) return;
    const name = `${file}:${whole.startOffset}-${whole.endOffset}`;
    reached.add(name);
    const left = parts.filter(({ count }) => count === 0);
    const blocks = this.#blocks.get(name) ?? new Map<string, Range>();
    this.#blocks.set(name, blocks);
    for (const range of left) blocks.set(`${name}/${range.startOffset}-${range.endOffset}`, range);
    for (const [block, { startOffset, endOffset }] of blocks) {
      if (!left.some((range) => range.startOffset <= startOffset && endOffset <= range.endOffset)) reached.add(block);
    }
  }
}
