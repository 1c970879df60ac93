/**
 * The fixture of the rows about old sessions: a store with a session of 1,000,000 events and one of 100,000; beside it
 * the same events in the plainest forms, for the baselines: one SQLite table, and a file of JSON lines.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { limit, openSession } from "@pawl/core";
import { decodeAll, encode } from "../packages/core/src/log/codec.ts";
import type { LogRecord } from "../packages/core/src/log/envelope.ts";
import type { LogEvent } from "../packages/core/src/log/event.ts";
import { verify } from "../packages/core/src/turn/verify.ts";
import { eventsPerTurn, historyOf } from "./history.ts";
import { promptText, stepModel } from "./model.ts";

export const sizes = { million: 1_000_000, tenth: 100_000 } as const;
export type Size = keyof typeof sizes;

/** Where the fixture keeps its parts. */
export const storeIn = (fixture: string): string => join(fixture, "store");
export const tableIn = (fixture: string): string => join(fixture, "plain.db");
export const linesIn = (fixture: string): string => join(fixture, "tenth.jsonl");

/** Turns whose records are held to the laws: all are made alike. */
const checkedTurns = 100;

export async function make(dir: string): Promise<void> {
  mkdirSync(storeIn(dir));
  const { withRuntime } = await import("./durable.ts");
  const plain = new PlainTable(tableIn(dir));
  await withRuntime(storeIn(dir), async (runtime) => {
    const { store } = runtime;
    for (const session of Object.keys(sizes) as Size[]) {
      const head = { title: "A long life", cwd: "/work", outcome: "completed" };
      const copy = (records: readonly LogRecord[]) => {
        plain.add(session, records);
        if (session === "tenth") appendFileSync(linesIn(dir), records.map(lineOf).join(""));
      };
      await store.restore({ session, head, batches: batchesOf(session, copy) });
    }
    checkLaws(await store.read("tenth", { limit: 1 + checkedTurns * eventsPerTurn }));
    // Whatever a driver leaves for the next one is then there.
    for (const id of Object.keys(sizes)) {
      const session = await openSession(runtime, id);
      await session.run({ model: stepModel(0) }, promptText).result;
    }
  });
  plain.close();
}

/** Whole turns only: the last batch is what is left of one. */
async function* batchesOf(
  session: Size,
  copy: (records: readonly LogRecord[]) => void,
): AsyncGenerator<LogRecord[], void> {
  let batch: LogRecord[] = [];
  let seq = 0;
  for (const event of historyOf(sizes[session])) {
    batch.push(...recordOf(event, session, seq));
    seq += 1;
    if (batch.length < limit.batchRecords) continue;
    copy(batch);
    yield batch;
    batch = [];
  }
  copy(batch);
  if (batch.length > 0) yield batch;
}

/** The creation is nobody's, all else is the first driver's. */
function recordOf(event: LogEvent, session: string, seq: number): LogRecord[] {
  return encode([event], { session, epoch: Math.min(seq, 1), expectedSeq: seq, time: Date.UTC(2026, 0, 1) + seq });
}

function lineOf({ session, seq, epoch, time, type, payload }: LogRecord): string {
  return `${JSON.stringify({ session, seq, epoch, time, event: { type, ...JSON.parse(textOf(payload)) } })}\n`;
}

function textOf(payload: LogRecord["payload"]): string {
  return new TextDecoder().decode(payload as Uint8Array);
}

function checkLaws(records: readonly LogRecord[]): void {
  const broken = verify(decodeAll(records)).flatMap(({ violations }) => violations);
  if (broken.length > 0) throw new Error(`the history breaks a law: ${JSON.stringify(broken[0])}`);
}

/** Who knew in advance what is asked would keep events like this: no sums, no fences, no forks. */
class PlainTable {
  readonly #db: DatabaseSync;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    this.#db.exec(
      `CREATE TABLE event (session TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, seq))
       WITHOUT ROWID`,
    );
    this.#insert = this.#db.prepare("INSERT INTO event (session, seq, body) VALUES (?, ?, ?)");
  }

  add(session: string, records: readonly LogRecord[]): void {
    this.#db.exec("BEGIN");
    for (const { seq, payload } of records) this.#insert.run(session, seq, textOf(payload));
    this.#db.exec("COMMIT");
  }

  close(): void {
    this.#db.close();
  }
}
