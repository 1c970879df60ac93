/**
 * What rots on a disk: records that are read otherwise than they were written, or not at all. The store below has them whole.
 *
 * Owns: which records, how. Does not own: what must follow from it (witness). Invariants:
 * 1. A record that has rotted stays so, for every session that reads it, also once its payload is erased.
 * 2. Where one is gone, a page goes on with the next one: only the end of a log is a short page.
 */
import type { LogRecord, Store } from "@pawl/core";
import type { Random } from "./random.ts";

type Rot = "payload" | "checksum" | "type" | "gone";

export class Damage {
  readonly #random: Random;
  readonly #rotten = new Map<string, Rot>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** The record `seq` that `session` itself holds. */
  rot(session: string, seq: number): void {
    const key = `${session} ${seq}`;
    if (!this.#rotten.has(key)) this.#rotten.set(key, this.#random.pick(["payload", "checksum", "type", "gone"]));
  }

  isRotten({ session, seq }: Pick<LogRecord, "session" | "seq">): boolean {
    return this.#rotten.has(`${session} ${seq}`);
  }

  /** The store, as it is read now. */
  over(store: Store): Store {
    return new Proxy(store, {
      get: (_, name: keyof Store) => {
        if (name === "read") return (...given: Parameters<Store["read"]>) => this.#read(store, ...given);
        if (name === "readTail") return (...given: Parameters<Store["readTail"]>) => this.#readTail(store, ...given);
        const member = store[name];
        return typeof member === "function" ? member.bind(store) : member;
      },
    });
  }

  async #read(
    store: Store,
    session: string,
    { after = 0, limit = pageRecords }: { after?: number; limit?: number } = {},
  ): Promise<LogRecord[]> {
    const records = await store.read(session, { after, limit: limit + this.#rotten.size });
    return this.#seen(records).slice(0, limit);
  }

  async #readTail(
    store: Store,
    session: string,
    { before, limit = pageRecords }: { before?: number; limit?: number } = {},
  ): Promise<LogRecord[]> {
    const wanted = { ...(before === undefined ? {} : { before }), limit: limit + this.#rotten.size };
    return this.#seen(await store.readTail(session, wanted)).slice(-limit);
  }

  #seen(records: readonly LogRecord[]): LogRecord[] {
    return records.flatMap((record) => {
      const rot = this.#rotten.get(`${record.session} ${record.seq}`);
      return rot === undefined ? record : rotted(record, rot);
    });
  }
}

/** Longer than any log of this world: a page may hold it whole. */
const pageRecords = 900;

function rotted(record: LogRecord, rot: Rot): LogRecord[] {
  const { payload } = record;
  switch (rot) {
    case "gone":
      return [];
    case "checksum":
      return [{ ...record, checksum: record.checksum.replace(/^./, (first) => (first === "0" ? "1" : "0")) }];
    case "type":
      return [{ ...record, type: record.type === "note.recorded" ? "turn.ended" : "note.recorded" }];
    case "payload":
      return [
        {
          ...record,
          payload: payload instanceof Uint8Array ? flipped(payload) : { ...payload, left: flipped(payload.left) },
        },
      ];
  }
}

function flipped(bytes: Uint8Array): Uint8Array {
  const changed = new Uint8Array(bytes);
  const at = changed.length >> 1;
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}
