/**
 * The mailbox as a driver reads it: inputs open turns, steers join the next attempt, aborts end the open turn, answers
 * go to who asked. Posts stay in the store until the batch that uses them.
 */
import type { MailboxEntry, Store } from "../store/store.ts";
import { type AnswerPost, answerPostOf } from "./answer.ts";
import { type InputPost, type Queue, queueOf } from "./queue.ts";

export class Inbox {
  readonly #store: Store;
  readonly #session: string;
  /** Hears of every abort that waits and the turn it is addressed to, each time the mailbox is read. */
  readonly #onAbort: (turn: string) => void;
  #entries: readonly MailboxEntry[] = [];
  /** Whether `#entries` is what was read, less what is gone. */
  #isRead = false;
  /** Taken, and not gone from the mailbox yet. */
  readonly #taken = new Set<string>();
  /** Gone from the mailbox with a batch of ours; a read that began before it may still bring them. */
  readonly #gone = new Set<string>();
  readonly #readers = new Set<() => void>();
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #end: () => void = () => {};

  constructor(store: Store, session: string, onAbort: (turn: string) => void) {
    this.#store = store;
    this.#session = session;
    this.#onAbort = onAbort;
  }

  /** Reads the mailbox whenever the store says that something came. */
  open(): void {
    this.#end = this.#store.watch(this.#session, (news) => {
      // Mostly our own appends: the mailbox has not changed.
      if (news !== "records") this.refresh().catch(() => {});
    });
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

  /**
   * How many posts wait as far as we know, read and not gone with a batch since, where none is for the next attempt. Undefined
   * where one is, and before the first read.
   */
  get quiet(): number | undefined {
    if (!this.#isRead || this.answers.length > 0) return undefined;
    const { waiting, withdrawn, late } = this.#queue();
    if (withdrawn.length + late.length > 0 || waiting.some(({ kind }) => kind === "steer")) return undefined;
    return this.#entries.filter(({ id }) => !this.#gone.has(id)).length;
  }

  /** A batch of ours has taken these out of the mailbox. */
  left(posts: readonly string[]): void {
    for (const post of posts) this.#gone.add(post);
  }

  /** The oldest input that no turn has claimed; with `steers`, where there is none, the oldest steer without a turn. */
  takeInput(steers: boolean): InputPost | undefined {
    const { waiting } = this.#queue();
    const post = waiting.find(({ kind }) => kind === "prompt") ?? (steers ? waiting[0] : undefined);
    return post && this.#take([post])[0];
  }

  /** Every steer that waits for the next attempt. */
  takeSteers(): InputPost[] {
    return this.#take(this.#queue().waiting.filter(({ kind }) => kind === "steer"));
  }

  takeAll(): InputPost[] {
    return this.#take(this.#queue().waiting);
  }

  /** What people have taken back, in time and too late. */
  takeChanges(): Pick<Queue, "withdrawn" | "late"> {
    const { withdrawn, late } = this.#queue();
    for (const { posts } of withdrawn) for (const post of posts) this.#taken.add(post);
    for (const { id } of late) this.#taken.add(id);
    return { withdrawn, late };
  }

  get steered(): boolean {
    return this.#queue().waiting.some(({ kind }) => kind === "steer");
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

  /** The log was read again: what a refused batch had taken is still here, or is gone without our knowing. */
  reset(): void {
    this.#taken.clear();
    this.#isRead = false;
  }

  #queue(): Queue {
    return queueOf(this.#entries, this.#taken);
  }

  #take(posts: InputPost[]): InputPost[] {
    for (const { id, edits } of posts) for (const post of [id, ...edits]) this.#taken.add(post);
    return posts;
  }

  #waiting(): MailboxEntry[] {
    return this.#entries.filter((entry) => !this.#taken.has(entry.id));
  }

  async #read(): Promise<void> {
    this.#entries = await this.#store.mailbox(this.#session);
    this.#isRead = true;
    // Only what is still there can be taken twice; forgetting the rest keeps a long session small.
    const there = new Set(this.#entries.map((entry) => entry.id));
    for (const ids of [this.#taken, this.#gone]) for (const id of ids) if (!there.has(id)) ids.delete(id);
    for (const { kind, body } of this.#waiting()) {
      const turn = kind === "abort" ? (body as { turn?: unknown } | null)?.turn : undefined;
      if (typeof turn === "string") this.#onAbort(turn);
    }
    for (const notify of this.#readers) notify();
  }
}
