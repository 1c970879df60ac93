/** The contents of many objects, one after another, from one git. */
import { spawn } from "node:child_process";
import { PawlError } from "@pawl/core";
import { gitArguments, gitEnvironment } from "./git.ts";
import type { Shadow } from "./shadow.ts";

/** Asked for before they are read: git must never wait for us, nor we for it. */
const ahead = 64;

/** In order. Fails with CORRUPT where one is not there, or not whole: the start of a file must not take its place. */
export async function* contentsOf<T extends { blob: string }>(
  shadow: Shadow,
  items: readonly T[],
): AsyncGenerator<{ item: T; content: Buffer }> {
  if (items.length === 0) return;
  const child = spawn("git", gitArguments(shadow.place, ["cat-file", "--batch"]), {
    cwd: shadow.dir,
    env: gitEnvironment(shadow.place),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => {});
  child.stdin.on("error", () => {});
  const reader = new Reader(child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>);
  try {
    for (const [at, item] of items.entries()) {
      if (at % ahead === 0)
        child.stdin.write(
          items
            .slice(at, at + ahead)
            .map(({ blob }) => `${blob}\n`)
            .join(""),
        );
      const head = (await Promise.race([reader.line(), failed])).toString("latin1");
      const [, size] = /^\w+ blob (\d+)$/.exec(head) ?? [];
      if (size === undefined)
        throw new PawlError(
          "CORRUPT",
          `the snapshots of ${shadow.folder} in ${shadow.dir} lack an object: ${head || item.blob}`,
        );
      const content = await reader.bytes(Number(size));
      if (content.length < Number(size))
        throw new PawlError(
          "CORRUPT",
          `git ended within an object of the snapshots in ${shadow.dir}: ${item.blob} has ${size} bytes, ${content.length} came; do it again`,
        );
      await reader.bytes(1);
      yield { item, content };
    }
  } finally {
    child.kill("SIGKILL");
  }
}

class Reader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterator<Buffer>) {
    this.#source = source;
  }

  async line(): Promise<Buffer> {
    for (;;) {
      const end = this.#held.indexOf(10);
      if (end >= 0) return this.#take(end, 1);
      if (!(await this.#more())) return this.#take(this.#held.length, 0);
    }
  }

  /** Fewer only where the source ends. */
  async bytes(count: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let missing = count - this.#held.length;
    while (missing > 0) {
      const { value, done } = await this.#source.next();
      if (done) break;
      chunks.push(value);
      missing -= value.length;
    }
    // Joined once: a large file comes in very many pieces.
    if (chunks.length > 0) this.#held = Buffer.concat([this.#held, ...chunks]);
    return this.#take(Math.min(count, this.#held.length), 0);
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (!done) this.#held = Buffer.concat([this.#held, value]);
    return !done;
  }

  #take(count: number, skipped: number): Buffer {
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count + skipped);
    return taken;
  }
}
