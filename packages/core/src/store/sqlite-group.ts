/**
 * Group commit: everything that waits becomes one transaction, and one flush.
 *
 * Owns: transactions. Invariants:
 * 1. A refused operation harms no neighbour: it has written nothing (sqlite-write, 1).
 * 2. When the transaction itself fails, each operation is tried once more in one of its own, so that one that does not
 *    fit on the disk does not take the others with it.
 * 3. An answer is given after the commit it depends on, never before.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { PawlError } from "../error.ts";
import { isBusy, storeFault } from "./sqlite-fault.ts";
import { OpenFiles } from "./sqlite-files.ts";
import { Restorer } from "./sqlite-restore.ts";
import { prepareRestore } from "./sqlite-statement.ts";
import type { Answer, Call, Kind, SqliteStats } from "./sqlite-wire.ts";
import { Writer } from "./sqlite-write.ts";

/**
 * What survives the process without a flush, in the order of the log: a partial journal may lose the last moments
 * before a power cut, a snapshot can be rebuilt, and after a power cut nobody is left to hold a lease.
 */
const unflushed: ReadonlySet<Kind> = new Set([
  "writePartial",
  "saveSnapshot",
  "acquire",
  "renew",
  "release",
  "erase",
  "restoreBegin",
  "restoreAdd",
  "restoreDrop",
]);

/** After these, what was there must not be found in the file. */
const effaces: ReadonlySet<Kind> = new Set(["redact", "delete", "erase"]);

/** An erasure by slices has nothing left to do. */
function isLast(answer: Answer | undefined): boolean {
  return answer !== undefined && "out" in answer && answer.out === false;
}

/** From so many writes on, records are gathered: a lone writer has its pages to itself, and nothing to gain. */
const gatherFrom = 8;
/** Settled together: enough to fill the pages of a hundred sessions, few enough to take some milliseconds. */
const settleFrom = 2_000;

export class Group {
  readonly stats: SqliteStats = { operations: 0, commits: 0, flushes: 0 };
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #writer: Writer;
  readonly #restorer: Restorer;
  /** Without a write-ahead log every commit is flushed: less would risk the file, not only the last moments. */
  readonly #alwaysFlush: boolean;
  readonly #files: OpenFiles;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #flushing = true;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.#writer = new Writer(db);
    this.#restorer = new Restorer(this.#writer, prepareRestore(db));
    const journal = String(db.prepare("PRAGMA journal_mode").get()?.["journal_mode"]);
    this.#alwaysFlush = journal !== "wal";
    this.#files = new OpenFiles(path, journal);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
  }

  static writes(kind: Kind): boolean {
    return writeKinds.has(kind);
  }

  run(calls: Call[]): Answer[] {
    this.stats.operations += calls.length;
    try {
      return this.#together(calls);
    } catch (error) {
      if (calls.length === 1 || isBusy(error)) return calls.map((call) => this.#fault(call.id, error));
      return calls.flatMap((call) => {
        try {
          return this.#together([call]);
        } catch (alone) {
          return [this.#fault(call.id, alone)];
        }
      });
    }
  }

  #together(calls: Call[]): Answer[] {
    const flush = this.#alwaysFlush || calls.some((call) => !unflushed.has(call.kind));
    const work = (): Answer[] => {
      this.#writer.gathers = calls.length >= gatherFrom;
      return calls.map((call) => this.#answer(call));
    };
    if (!calls.some((call) => effaces.has(call.kind))) return this.#transaction(flush, work);
    // The log beside the file is emptied at the end of an erasure, not after each of its slices.
    const ends = (answers: Answer[]) =>
      calls.some(({ kind }, at) => kind === "redact" || (kind === "erase" && isLast(answers[at])));
    return this.#overwriting(() => this.#transaction(flush, work), ends);
  }

  /** What is replaced is gone from the file, not only from the tables: overwritten, and not left in the log beside it. */
  #overwriting<T>(work: () => T, ends: (result: T) => boolean): T {
    this.#db.exec("PRAGMA secure_delete = ON");
    try {
      const result = work();
      if (ends(result)) this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return result;
    } finally {
      this.#db.exec("PRAGMA secure_delete = FAST");
    }
  }

  /** When the answers are out. A failure costs nothing: the records are safe where they are, and it is tried again. */
  settle(): void {
    if (this.#writer.unsettled < settleFrom) return;
    try {
      this.#transaction(false, () => this.#writer.settle());
    } catch {
      this.#writer.unsettled = 0;
    }
  }

  /** Leaves a compact file, if nobody is in the way. */
  close(): void {
    try {
      if (this.#writer.anyFresh()) this.#transaction(false, () => this.#writer.settle());
    } finally {
      this.#db.close();
    }
  }

  #transaction<T>(flush: boolean, work: () => T): T {
    this.#files.assertSame();
    this.#setFlush(flush);
    this.#begin.run();
    const { unsettled } = this.#writer;
    try {
      this.#writer.sessions.fresh();
      const result = work();
      this.#commit.run();
      this.stats.commits += 1;
      if (flush) this.stats.flushes += 1;
      return result;
    } catch (error) {
      this.#writer.forget();
      this.#writer.unsettled = unsettled;
      // Some errors have rolled back already.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** FULL flushes at every commit, NORMAL at checkpoints only. Either way the log's order on disk is kept. */
  #setFlush(flush: boolean): void {
    if (flush === this.#flushing) return;
    this.#db.exec(flush ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    this.#flushing = flush;
  }

  #answer(call: Call): Answer {
    try {
      return { id: call.id, out: this.#write(call) };
    } catch (error) {
      if (error instanceof PawlError) return this.#fault(call.id, error);
      throw error;
    }
  }

  #write(call: Call): unknown {
    const writer = this.#writer;
    switch (call.kind) {
      case "create":
        return writer.create(call.in);
      case "append":
        return writer.append(call.in);
      case "restoreBegin":
        return this.#restorer.begin(call.in);
      case "restoreAdd":
        return this.#restorer.add(call.in);
      case "restoreEnd":
        return this.#restorer.end(call.in);
      case "restoreDrop":
        return this.#restorer.drop(call.in);
      case "redact":
        return this.#restorer.redact(call.in);
      case "delete":
        return writer.delete(call.in);
      case "erase":
        return writer.erase();
      case "setName":
        return writer.setName(call.in);
      case "post":
        return writer.post(call.in);
      case "acquire":
        return writer.acquire(call.in);
      case "renew":
        return writer.renew(call.in);
      case "release":
        return writer.release(call.in);
      case "writePartial":
        return writer.writePartial(call.in);
      case "saveSnapshot":
        return writer.saveSnapshot(call.in);
      default:
        throw new PawlError("BUG", `${call.kind} is not an operation that writes`);
    }
  }

  #fault(id: number, error: unknown): Answer {
    const { code, message } = storeFault(error, this.#path);
    return { id, fault: { code, message } };
  }
}

const writeKinds: ReadonlySet<Kind> = new Set([
  "create",
  "append",
  "restoreBegin",
  "restoreAdd",
  "restoreEnd",
  "restoreDrop",
  "redact",
  "delete",
  "erase",
  "setName",
  "post",
  "acquire",
  "renew",
  "release",
  "writePartial",
  "saveSnapshot",
]);
