/**
 * The mailbox as a driver reads it: inputs open turns, steers join the next attempt, aborts end the open turn, answers
 * go to who asked. Posts stay in the store until the batch that uses them.
 */
import { PawlError } from "../error.ts";
import { partShape } from "../log/check.ts";
import type { Part } from "../log/event.ts";
import { list, seen } from "../log/shape.ts";
import type { MailboxEntry, Store } from "../store/store.ts";
import { type AnswerPost, answerPostOf } from "./answer.ts";

export interface InputPost {
  id: string;
  kind: "prompt" | "steer";
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
  /** Hears of every abort that waits and the turn it is addressed to, each time the mailbox is read. */
  readonly #onAbort: (turn: string) => void;
  #entries: readonly MailboxEntry[] = [];
  /** Taken, and not gone from the mailbox yet. */
  readonly #taken = new Set<string>();
  readonly #readers = new Set<() => void>();
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #end: () => void = () => {};

  constructor(store: Store, session: string, onAbort: (turn: string) => void) {
    this.#store = store;
    this.#session = session;
    this.#onAbort = onAbort;
  }

  /** Reads the mailbox now and whenever the store says that something came. */
  async open(): Promise<void> {
    this.#end = this.#store.watch(this.#session, (news) => {
      // Mostly our own appends: the mailbox has not changed.
      if (news !== "records") this.refresh().catch(() => {});
    });
    await this.refresh();
  }

  close(): void {
    this.#end();
  }

  /**
   * Reads the mailbox. Resolves after a read that began later than this call. One at a time: of two that overlap, the
   * older could bring back what the newer saw consumed.
   */
  refresh(): Promise<void> {
    this.#next ??= this.#reading.then(() => {
      this.#next = undefined;
      const read = this.#read();
      this.#reading = read.catch(() => {});
      return read;
    });
    return this.#next;
  }

  /** The oldest input that no turn has claimed; with `steers`, where there is none, the oldest steer without a turn. */
  takeInput(steers: boolean): InputPost | undefined {
    const posts = this.#waiting().flatMap((entry) => inputOf(entry) ?? []);
    const post = posts.find(({ kind }) => kind === "prompt") ?? (steers ? posts[0] : undefined);
    if (post) this.#taken.add(post.id);
    return post;
  }

  /** Every steer that waits for the next attempt. */
  takeSteers(): InputPost[] {
    const steers = this.#waiting().flatMap((entry) => (entry.kind === "steer" ? (inputOf(entry) ?? []) : []));
    for (const { id } of steers) this.#taken.add(id);
    return steers;
  }

  get steered(): boolean {
    return this.#waiting().some((entry) => entry.kind === "steer" && inputOf(entry) !== undefined);
  }

  /** Every abort that waits: the batch that ends its turn, or finds it ended, takes them along. */
  takeAborts(): string[] {
    const aborts = this.#waiting().flatMap(({ id, kind }) => (kind === "abort" ? [id] : []));
    for (const id of aborts) this.#taken.add(id);
    return aborts;
  }

  /** Every post of kind `answer` that nobody has taken, in order of arrival. */
  get answers(): AnswerPost[] {
    return this.#waiting().flatMap((entry) => answerPostOf(entry) ?? []);
  }

  take(post: string): void {
    this.#taken.add(post);
  }

  /** Calls `notify` each time the mailbox has been read. Returns the end of it. */
  onRead(notify: () => void): () => void {
    this.#readers.add(notify);
    return () => this.#readers.delete(notify);
  }

  /** The log was read again: what a refused batch had taken is still here. */
  reset(): void {
    this.#taken.clear();
  }

  #waiting(): MailboxEntry[] {
    return this.#entries.filter((entry) => !this.#taken.has(entry.id));
  }

  async #read(): Promise<void> {
    this.#entries = await this.#store.mailbox(this.#session);
    // Only what is still there can be taken twice; forgetting the rest keeps a long session small.
    const there = new Set(this.#entries.map((entry) => entry.id));
    for (const id of this.#taken) if (!there.has(id)) this.#taken.delete(id);
    for (const { kind, body } of this.#waiting()) {
      const turn = kind === "abort" ? (body as { turn?: unknown } | null)?.turn : undefined;
      if (typeof turn === "string") this.#onAbort(turn);
    }
    for (const notify of this.#readers) notify();
  }
}

/** Undefined for other kinds, and for one of a version that knows more than we do: it stays for who understands it. */
function inputOf({ id, kind, body }: MailboxEntry): InputPost | undefined {
  if (kind !== "input" && kind !== "steer") return undefined;
  const parts = (body as { content?: unknown } | null)?.content;
  if (content.check(parts, "content") !== undefined) return undefined;
  return { id, kind: kind === "input" ? "prompt" : "steer", content: parts as Part[] };
}
