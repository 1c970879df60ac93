/**
 * What each session has seen of each file, in this process: the hash of the content as of its last read, write or edit. So a
 * file that somebody else has changed meanwhile, or that only another task has read, is not overwritten blindly.
 */
import { createHash } from "node:crypto";

export function contentHash(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Who looks at which file, by its real path. */
export interface Sight {
  session: string;
  real: string;
}

export class FileMemory {
  readonly #hashes = new Map<string, string>();
  readonly #queues = new Map<string, Promise<unknown>>();

  remember({ session, real }: Sight, hash: string): void {
    this.#hashes.set(`${session}\0${real}`, hash);
  }

  /** The hash that the session last saw; undefined if it never looked. */
  seen({ session, real }: Sight): string | undefined {
    return this.#hashes.get(`${session}\0${real}`);
  }

  /**
   * Runs changes of one real path one after the other. The scheduler's locks do that already, unless a call that ran
   * between the locks and the body has turned a path into a link to another.
   */
  async exclusively<T>(real: string, change: () => Promise<T>): Promise<T> {
    const run = (this.#queues.get(real) ?? Promise.resolve()).then(change, change);
    this.#queues.set(real, run);
    try {
      return await run;
    } finally {
      if (this.#queues.get(real) === run) this.#queues.delete(real);
    }
  }
}
