/**
 * Hears of new records and posts: of this process at once, of others by asking the database for its change counter.
 *
 * Owns: the poll. Invariants: it runs only while somebody watches; a watcher is told at least once after any change
 * that came after it began, perhaps also for nothing.
 */
import type { Timers } from "../effects.ts";
import { isPawlError } from "../error.ts";
import type { WorkerLink } from "./sqlite-link.ts";
import type { News } from "./store.ts";
import { Watchers } from "./watch.ts";

/** Quick enough for a person who watches another process; one counter read each time, whatever the number watched. */
const pollMs = 50;

export class SqliteWatch {
  readonly #link: WorkerLink;
  readonly #timers: Timers;
  readonly #watchers = new Watchers();
  readonly #marks = new Map<string, string>();
  #version = -1;
  #cancel: (() => void) | undefined;
  #polling = false;

  constructor(link: WorkerLink, timers: Timers) {
    this.#link = link;
    this.#timers = timers;
  }

  add(session: string, notify: (news: News) => void): () => void {
    this.#link.assertOpen();
    const end = this.#watchers.add(session, notify);
    this.#schedule();
    return () => {
      end();
      if (this.#watchers.size === 0) this.#rest();
    };
  }

  notify(session: string, news: News): void {
    this.#watchers.notify(session, news);
  }

  /** The store is closed: watchers look, and find out. */
  end(): void {
    this.#watchers.notifyAll();
    this.#rest();
  }

  #schedule(): void {
    if (this.#cancel || this.#polling) return;
    this.#cancel = this.#timers.after(pollMs, () => void this.#poll());
  }

  #rest(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#marks.clear();
    // Whoever watches next is told of what happened meanwhile: any version differs from this one.
    this.#version = -1;
  }

  async #poll(): Promise<void> {
    this.#cancel = undefined;
    this.#polling = true;
    try {
      const { sessions } = this.#watchers;
      const { version, marks } = await this.#link.call("marks", { version: this.#version, sessions });
      this.#version = version;
      for (const [index, mark] of marks.entries()) this.#compare(sessions[index] ?? "", mark);
    } catch (error) {
      // A closed or dead store answers the watchers themselves; a busy one is asked again.
      if (isPawlError(error, "STORE_CLOSED")) return;
      this.#watchers.notifyAll();
    } finally {
      this.#polling = false;
    }
    if (this.#watchers.size > 0 && this.#link.isOpen) this.#schedule();
  }

  #compare(session: string, mark: string): void {
    if (this.#marks.get(session) === mark) return;
    this.#marks.set(session, mark);
    this.#watchers.notify(session, "any");
  }
}
