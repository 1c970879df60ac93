/**
 * A session as the chat holds it: driven here, or followed while another process drives it or nobody does.
 *
 * Owns: each entry reaches the listener once and in order, whoever wrote it. Does not own: what is shown or asked.
 */
import type { Agent, LiveItem, LogEntry, QueuedInput, Runtime, Session, Turn, TurnResult } from "@pawl/core";
import { readable } from "../readable.ts";

export interface LinkEvents {
  item(item: LiveItem): void;
  /** Something was posted, taken or finished. */
  news(): void;
  /** Reading failed: damage, a deleted session. */
  broken(error: unknown): void;
}

export type Start = (session: Session, agent: Agent, signal: AbortSignal) => Turn;

/** `turn`: once what it needs is there. */
interface Driving {
  turn?: Turn;
  abort: AbortController;
}

export class Link {
  readonly session: Session;
  readonly #runtime: Runtime;
  readonly #events: LinkEvents;
  #seq = 0;
  #following: AbortController | undefined;
  #driving: Driving | undefined;
  readonly #unwatch: () => void;

  constructor(runtime: Runtime, session: Session, events: LinkEvents) {
    this.#runtime = runtime;
    this.session = session;
    this.#events = events;
    this.#unwatch = runtime.store.watch(session.id, (news) => {
      if (news !== "records") events.news();
    });
  }

  get isDriving(): boolean {
    return this.#driving !== undefined;
  }

  /** What is there so far; from then on it is followed. */
  async entries(): Promise<LogEntry[]> {
    const { entries, damage } = await readable(this.#runtime, this.session.id);
    this.#seq = entries.at(-1)?.seq ?? 0;
    if (damage) this.#events.broken(damage);
    else this.#follow();
    return entries;
  }

  queue(): Promise<QueuedInput[]> {
    return this.session.queue();
  }

  /** Drives until the session is idle; from now on, whatever `prepare` takes. Rejects as it and as `Turn.result` do. */
  async drive(prepare: () => Promise<Agent>, start: Start): Promise<TurnResult> {
    this.#unfollow();
    const driving: Driving = { abort: new AbortController() };
    this.#driving = driving;
    try {
      const agent = await prepare();
      driving.abort.signal.throwIfAborted();
      const turn = start(this.session, agent, driving.abort.signal);
      driving.turn = turn;
      for await (const item of turn) {
        if (item.type === "entry") await this.#entry(item.entry);
        else this.#events.item(item);
      }
      return await turn.result;
    } finally {
      this.#driving = undefined;
      this.#follow();
    }
  }

  retryNow(): void {
    this.#driving?.turn?.retryNow();
  }

  /** Ends the drive: its turn is settled, no further one begins. */
  endDrive(): void {
    this.#driving?.abort.abort(new DOMException("the person leaves", "AbortError"));
  }

  close(): void {
    this.#unfollow();
    this.#unwatch();
  }

  /** What another process wrote between two looks comes first. */
  async #entry(entry: LogEntry): Promise<void> {
    if (entry.seq <= this.#seq) return;
    if (entry.seq > this.#seq + 1) {
      const missed = (await this.session.entries()).filter(({ seq }) => seq > this.#seq && seq < entry.seq);
      for (const one of missed) this.#events.item({ type: "entry", entry: one });
    }
    this.#seq = entry.seq;
    this.#events.item({ type: "entry", entry });
  }

  #follow(): void {
    const end = new AbortController();
    this.#following = end;
    void this.#read(end.signal).catch((error: unknown) => {
      if (!end.signal.aborted) this.#events.broken(error);
    });
  }

  async #read(signal: AbortSignal): Promise<void> {
    for await (const entry of this.session.follow({ after: this.#seq, signal })) {
      if (signal.aborted) return;
      if (entry.seq <= this.#seq) continue;
      this.#seq = entry.seq;
      this.#events.item({ type: "entry", entry });
    }
  }

  #unfollow(): void {
    this.#following?.abort();
    this.#following = undefined;
  }
}
