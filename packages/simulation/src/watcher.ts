/** Somebody in a process of their own who watches a session, and what they were told of it. */
import { openSession } from "@pawl/core";
import type { Process } from "./process.ts";
import type { Referee } from "./referee.ts";

export class Watcher {
  readonly session: string;
  /** The last fact that was told. */
  seq: number;
  readonly #after: number;
  readonly #referee: Referee;
  readonly #end = new AbortController();
  /** By part, its words as they were told. */
  readonly #words = new Map<string, string>();
  /** What ended the watch before it was wanted. */
  #failed: unknown;

  constructor(process: Process, session: string, after: number, referee: Referee) {
    this.session = session;
    this.seq = after;
    this.#after = after;
    this.#referee = referee;
    this.#watch(process).catch((error: unknown) => {
      this.#failed = error;
    });
  }

  stop(): void {
    this.#end.abort();
  }

  get failed(): unknown {
    return this.#failed;
  }

  async #watch(process: Process): Promise<void> {
    const session = await openSession(process.runtime, this.session);
    for await (const item of session.watch({ after: this.seq, signal: this.#end.signal })) {
      if (item.type === "part.started") {
        if (this.#words.has(item.part)) this.#wrong("L2", `part ${item.part} is told twice`);
        this.#words.set(item.part, "");
      }
      if (item.type === "part.delta") this.#words.set(item.part, (this.#words.get(item.part) ?? "?") + item.text);
      if (item.type !== "entry") continue;
      const { seq, event } = item.entry;
      if (seq !== this.seq + 1) this.#wrong("L3", `it is told record ${seq} after ${this.seq}`);
      this.seq = seq;
      if (event.type === "message.committed")
        for (const part of event.parts) if (part.type === "text") this.#said(part.id, part.text, seq);
    }
  }

  /** Of a message that began before its eyes, every word has been told. */
  #said(part: string, text: string, seq: number): void {
    const began = this.#referee
      .entries(this.session)
      .findLast(
        (entry) =>
          entry.seq < seq && entry.event.type === "attempt.started" && part.startsWith(`${entry.event.attempt}-`),
      );
    if (!began || began.seq <= this.#after) return;
    const told = this.#words.get(part);
    if (told !== text) this.#wrong("L2", `of ${part} it is told ${JSON.stringify(told?.slice(0, 60))}`);
  }

  #wrong(law: string, what: string): void {
    // A hole, and what an operator has erased, a watcher reads as everybody does.
    if (this.#referee.witness.wasHoled(this.session)) return;
    this.#referee.breach(law, this.session, `a watcher: ${what}`);
  }
}
