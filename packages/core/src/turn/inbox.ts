/**
 * The mailbox as a driver reads it: inputs open turns, steers join the next attempt, aborts end the open turn. Posts
 * stay in the store until the batch that uses them.
 */
import { PawlError } from "../error.ts";
import { partShape } from "../log/check.ts";
import type { Part } from "../log/event.ts";
import { list, seen } from "../log/shape.ts";
import type { MailboxEntry, Store } from "../store/store.ts";

export interface InputPost {
  id: string;
  content: Part[];
}

const content = list(partShape);

/** What an input or a steer holds. Throws INVALID_INPUT. */
export function contentOf(input: string | readonly Part[]): Part[] {
  const parts: readonly Part[] = typeof input === "string" ? [{ type: "text", text: input }] : input;
  const problem = content.check(parts, "input");
  if (problem) throw new PawlError("INVALID_INPUT", problem);
  const blank = parts.every((part) => part.type === "text" && part.text.trim() === "");
  if (blank) throw new PawlError("INVALID_INPUT", `the input is empty: ${seen(input)}; say what is to be done`);
  return [...parts];
}

export class Inbox {
  readonly #store: Store;
  readonly #session: string;
  /** Hears of an abort and the turn it is addressed to. */
  readonly #onAbort: (turn: string) => void;
  #entries: readonly MailboxEntry[] = [];
  readonly #used = new Set<string>();
  readonly #aborts: string[] = [];
  #end: () => void = () => {};

  constructor(store: Store, session: string, onAbort: (turn: string) => void) {
    this.#store = store;
    this.#session = session;
    this.#onAbort = onAbort;
  }

  /** Reads the mailbox now and whenever the store says that something came. */
  async open(): Promise<void> {
    await this.#refresh();
    this.#end = this.#store.watch(this.#session, () => void this.#refresh().catch(() => {}));
  }

  close(): void {
    this.#end();
  }

  /** The oldest input that no turn has claimed. */
  async nextInput(): Promise<InputPost | undefined> {
    await this.#refresh();
    return this.#take("input")[0];
  }

  /** Steers that wait for the next attempt. */
  steers(): InputPost[] {
    return this.#take("steer", Number.POSITIVE_INFINITY);
  }

  /** Aborts that were heard: the batch that ends the turn takes them along. */
  aborts(): string[] {
    return this.#aborts.splice(0);
  }

  /** The log was read again: what a refused batch had claimed is still here. */
  reset(): void {
    this.#used.clear();
  }

  #take(kind: "input" | "steer", most = 1): InputPost[] {
    const taken: InputPost[] = [];
    for (const entry of this.#entries) {
      if (entry.kind !== kind || this.#used.has(entry.id) || taken.length >= most) continue;
      const parts = (entry.body as { content?: unknown } | null)?.content;
      // Posted by a version that knows more than we do: it stays for one that understands it.
      if (content.check(parts, "content") !== undefined) continue;
      this.#used.add(entry.id);
      taken.push({ id: entry.id, content: parts as Part[] });
    }
    return taken;
  }

  async #refresh(): Promise<void> {
    this.#entries = await this.#store.mailbox(this.#session);
    for (const { kind, id, body } of this.#entries) {
      if (kind !== "abort" || this.#used.has(id)) continue;
      this.#used.add(id);
      this.#aborts.push(id);
      const turn = (body as { turn?: unknown } | null)?.turn;
      if (typeof turn === "string") this.#onAbort(turn);
    }
  }
}
