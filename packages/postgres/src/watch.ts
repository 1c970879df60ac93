/**
 * Hears of new records and posts: of this process at once, of others by notification, and by asking now and then.
 *
 * Owns: what is told to whom, and when it is asked. Invariants:
 * 1. A notification is a hint that carries a session's id: what came is read from the tables. It is sent after the commit,
 *    of many commits together: a notifying transaction takes a lock that all others wait for.
 * 2. What was not heard (no connection, a sender that died) is found by asking: a watcher is told at least once.
 */
import { type News, type Timers, Watchers } from "@pawl/core/store";
import type { Link } from "./link.ts";

/** Where notifications arrive, asking is only for what they may miss; without them it is all there is. */
const heardPollMs = 1_000;
const unheardPollMs = 100;
/** A payload has less than 8,000 bytes; an id at most 64, and a sign before it. */
const idsPerNotice = 100;
/**
 * At once, and then together what came within this time: every process hears every notice, so that many sessions, or one with
 * quick steps, would keep a fleet awake.
 */
const noticeMs = 10;
/** Work, of no session in particular. */
const workWord = "p";
const markSign = "n";
/** Nothing is lost with a hint: its commit waits for no disk, and those that do wait less for the lock it takes. */
const notice = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

const marks = `
SELECT s.id, s.seq, (SELECT max(m.place) FROM pawl.mail m WHERE m.session = s.key) AS place
FROM pawl.session s WHERE s.state = 0 AND s.id IN (SELECT json_array_elements_text($1::text::json))`;

export interface WatchParts {
  link: Link;
  timers: Timers;
  channel: string;
  /** Whether notifications arrive. */
  isHeard(): boolean;
  /** Another worker says that it is there. */
  onJoined(mark: number): void;
}

export class DatabaseWatch {
  readonly #parts: WatchParts;
  readonly #watchers = new Watchers();
  readonly #workers = new Set<() => void>();
  readonly #marks = new Map<string, string>();
  /** What other processes have not been told yet, each with the sign of its news. */
  #untold = new Set<string>();
  #telling: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #asking = false;
  #ended = false;
  #hurry: () => void = () => {};

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  add(session: string, notify: (news: News) => void): () => void {
    const end = this.#watchers.add(session, notify);
    this.#schedule();
    return () => {
      end();
      if (this.#watchers.size === 0) this.#rest();
    };
  }

  /** Calls `notify` when there may be work that nobody drives. */
  addWorker(notify: () => void): () => void {
    const entry = () => notify();
    this.#workers.add(entry);
    return () => this.#workers.delete(entry);
  }

  /** Something of ours is durable. */
  tell(session: string, news: News): void {
    this.#watchers.notify(session, news);
    if (news !== "records") this.#wakeWorkers();
    this.#say(`${news === "records" ? "r" : "p"}${session}`);
  }

  /** Somebody has gone, and what it drove is nobody's. */
  tellOfWork(): void {
    this.#wakeWorkers();
    this.#say(workWord);
  }

  tellOfMark(mark: number): void {
    this.#say(`${markSign}${mark}`);
  }

  #say(word: string): void {
    this.#untold.add(word);
    this.#telling ??= this.#send();
  }

  async #send(): Promise<void> {
    try {
      while (this.#untold.size > 0) {
        const ids = [...this.#untold].slice(0, idsPerNotice);
        for (const id of ids) this.#untold.delete(id);
        await this.#parts.link.query(notice, [this.#parts.channel, ids.join(" ")]);
        if (this.#untold.size < idsPerNotice) await this.#gather();
      }
    } catch {
      // Others find out when they ask.
      this.#untold.clear();
    } finally {
      this.#telling = undefined;
    }
  }

  async #gather(): Promise<void> {
    if (this.#ended) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.timers.after(noticeMs, resolve);
    this.#hurry = resolve;
    await promise;
    cancel();
  }

  /** What another process, or we, have said. */
  hear(payload: string): void {
    let work = false;
    for (const word of payload.split(" ")) {
      if (word.startsWith(markSign)) {
        this.#parts.onJoined(Number(word.slice(markSign.length)));
        continue;
      }
      const news = word[0] === "r" ? "records" : "any";
      if (news === "any") work = true;
      this.#watchers.notify(word.slice(1), news);
    }
    if (work) this.#wakeWorkers();
  }

  /** Nobody knows what was said before. */
  missed(): void {
    this.#watchers.notifyAll();
    this.#wakeWorkers();
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#hurry();
    await this.#telling;
    this.#watchers.notifyAll();
    this.#rest();
  }

  #wakeWorkers(): void {
    for (const notify of this.#workers) queueMicrotask(notify);
  }

  #schedule(): void {
    if (this.#cancel || this.#asking || this.#watchers.size === 0 || !this.#parts.link.isOpen) return;
    const pollMs = this.#parts.isHeard() ? heardPollMs : unheardPollMs;
    this.#cancel = this.#parts.timers.after(pollMs, () => void this.#ask());
  }

  #rest(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#marks.clear();
  }

  async #ask(): Promise<void> {
    this.#cancel = undefined;
    this.#asking = true;
    try {
      const { sessions } = this.#watchers;
      const rows = await this.#parts.link.query(marks, [JSON.stringify(sessions)]);
      const found = new Map(rows.map((row) => [String(row["id"]), `${row["seq"]} ${row["place"]}`]));
      for (const session of sessions) this.#compare(session, found.get(session) ?? "gone");
    } catch {
      // A store that is away answers the watchers itself, when they look.
      this.#watchers.notifyAll();
    } finally {
      this.#asking = false;
    }
    this.#schedule();
  }

  #compare(session: string, mark: string): void {
    if (this.#marks.get(session) === mark) return;
    this.#marks.set(session, mark);
    this.#watchers.notify(session, "any");
  }
}
