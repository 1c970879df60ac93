/** What the referee lets pass of damage and erasure, and what not: told to it record by record, without a runtime. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEvent, LogRecord, Store } from "@pawl/core";
import { Damage } from "../src/damage.ts";
import { Random } from "../src/random.ts";
import { Referee } from "../src/referee.ts";
import { World } from "../src/world.ts";

const holder = { id: "p1", host: "h", boot: "b", pid: 1, start: "1" };

/** A session whose log is told by hand. */
class Told {
  readonly referee = new Referee(new World(1), { steady: true });
  readonly damage = new Damage(new Random(1));
  readonly #records: LogRecord[] = [];
  #epoch = 0;

  constructor() {
    this.referee.witness.damage = this.damage;
    this.referee.performed("create", [{ session: "s", records: this.#written([{ type: "session.created" }]) }], "done");
  }

  get broken(): string[] {
    return this.referee.breaches.map(({ law, message }) => `${law} ${message}`);
  }

  /** By whoever takes the lease now. */
  appends(...events: LogEvent[]): void {
    this.#epoch += 1;
    this.referee.performed("acquireLease", ["s", holder], { granted: true, epoch: this.#epoch });
    const records = this.#written(events);
    this.referee.performed("append", [{ session: "s", epoch: this.#epoch, records }], "done");
  }

  rots(seq: number): void {
    this.damage.rot("s", seq);
    this.referee.rotted("s", seq);
  }

  async erases(seq: number): Promise<void> {
    const record = this.#records[seq - 1] ?? assert.fail();
    const event = JSON.parse(Buffer.from(record.payload as Uint8Array).toString());
    const left = bytesOf({ ...event, content: [{ type: "text", text: "[erased]" }] });
    const store = { read: async () => [{ ...record, payload: { erased: "", left, seal: "" } }] };
    await this.referee.performedRarely("erase", [{ session: "s", seq }], "done", store as unknown as Store);
  }

  asks(...said: string[]): void {
    const prompt = said.map((text) => ({ role: "user" as const, content: [{ type: "text" as const, text }] }));
    this.referee.requested("s", prompt, false);
  }

  #written(events: readonly LogEvent[]): LogRecord[] {
    const records = events.map(({ type, ...fields }, at): LogRecord => {
      const seq = this.#records.length + 1 + at;
      const rest = { session: "s", epoch: this.#epoch, version: 1, ignorable: false, time: 0, checksum: "" };
      return { ...rest, seq, type, payload: bytesOf(fields) };
    });
    this.#records.push(...records);
    return records;
  }
}

function bytesOf(fields: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(fields));
}

const input: LogEvent = { type: "input.accepted", input: "in1", kind: "prompt", content: [] };
const turn: LogEvent = { type: "turn.started", turn: "t1", inputs: ["in1"] };
const interrupted: LogEvent = { type: "turn.ended", turn: "t1", outcome: { type: "interrupted" } };
const completed: LogEvent = { type: "turn.ended", turn: "t1", outcome: { type: "completed" } };
const repair = (from: number, to: number): LogEvent => ({ type: "log.repaired", from, to, reason: "rotten" });

test("a repair that has rotted since still tells how the log behind it was written; the next one takes its place", async () => {
  const told = new Told();
  told.appends(input, turn, completed);
  told.rots(4);
  told.appends(repair(3, 5), interrupted);
  told.rots(5);
  assert.equal(told.referee.witness.isHoled("s"), true, "nobody drives it until it is mended again");
  await told.erases(2);
  assert.deepEqual(told.broken, []);
  told.appends(repair(3, 6));
  assert.equal(told.referee.witness.isHoled("s"), false);
  assert.deepEqual(told.broken, []);
});

test("an end that no repair has hidden is one too many, also once something is erased", async () => {
  const told = new Told();
  told.appends(input, turn, completed);
  told.appends(interrupted);
  await told.erases(2);
  assert.deepEqual([...new Set(told.broken)], ["L7 at 5: turn t1 ends and is not open"]);
});

test("a driver that holds what was erased goes on with it until it reads the log again; the way back is closed", async () => {
  const told = new Told();
  told.appends(input, turn);
  told.asks("a secret");
  await told.erases(2);
  told.asks("a secret", "more");
  told.asks("[erased]", "more");
  assert.deepEqual(told.broken, []);
  told.asks("a secret", "more");
  assert.deepEqual(told.broken, ["L10 message 0 is not what the request before had"]);
});

test("behind an erasure, what was not erased keeps its bytes; whoever drives next has read what is left", async () => {
  const told = new Told();
  told.appends(input, turn);
  await told.erases(2);
  told.asks("[erased]", "more");
  told.asks("[erased]", "less");
  assert.deepEqual(told.broken, ["L10 message 1 is not what the request before had"]);
  told.appends(completed);
  told.asks("[erased]");
  told.asks("[erased] or so");
  assert.deepEqual(told.broken.slice(1), [
    "L10 message 0 is not what the request before had",
    "L3 input in1 is in the log and not in the request",
  ]);
});

test("what people have said is in the request, in order, unless the conversation was cut behind it", () => {
  const told = new Told();
  const saying = (id: string, text: string): LogEvent => ({ ...input, input: id, content: [{ type: "text", text }] });
  told.appends(saying("in1", "one"), turn, saying("in2", "two"));
  told.asks("one", "two");
  told.appends({ type: "context.compacted", upTo: 3, summary: [{ type: "text", text: "so far" }] });
  told.asks("so far", "two");
  assert.deepEqual(told.broken, []);
  told.appends(saying("in3", "three"));
  told.asks("so far", "two");
  assert.deepEqual(told.broken, ["L3 input in3 is in the log and not in the request"]);
});
