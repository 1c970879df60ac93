/**
 * What the worker knows about sessions while it writes: key, head, epoch, lease.
 *
 * Owns: the cache of session rows. Invariants:
 * 1. An entry is what the database holds, as this connection sees it: the cache is dropped when another process has
 *    committed (`fresh`), and when a transaction of ours was rolled back (`forget`).
 * 2. Deleted sessions are not found.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { noSession } from "./refusal.ts";

/** Beyond this the cache starts anew: a server that touches every session once must not keep them all. */
const maxEntries = 10_000;

export interface SessionRow {
  readonly key: number;
  seq: number;
  epoch: number;
  /** The epoch of the lease that is out, expired or not; 0 where there is none. */
  leased: number;
  /** What the session needs; empty for nothing. */
  workspace: string;
  /** The partial journal's last chunk; undefined: not looked up yet. */
  partial?: { attempt: string; epoch: number; n: number };
}

export class SessionRows {
  readonly #cache = new Map<string, SessionRow>();
  readonly #version: StatementSync;
  readonly #select: StatementSync;
  #seenVersion: unknown;

  constructor(db: DatabaseSync) {
    this.#version = db.prepare("PRAGMA data_version");
    this.#select = db.prepare(
      `SELECT s.key, s.seq, s.epoch, COALESCE(l.epoch, 0) AS leased, s.workspace
       FROM session s LEFT JOIN lease l ON l.session = s.key WHERE s.id = ? AND s.deleted = 0`,
    );
  }

  /** Directly after a transaction began: from there on nobody else can commit. */
  fresh(): void {
    const version = this.#version.get()?.["data_version"];
    if (version !== this.#seenVersion || this.#cache.size > maxEntries) this.#cache.clear();
    this.#seenVersion = version;
  }

  forget(): void {
    this.#cache.clear();
  }

  drop(session: string): void {
    this.#cache.delete(session);
  }

  find(session: string): SessionRow {
    const known = this.#cache.get(session);
    if (known) return known;
    const row = this.#select.get(session) as unknown as SessionRow | undefined;
    if (!row) throw noSession(session);
    this.#cache.set(session, row);
    return row;
  }
}
