/**
 * The world that a store under test lives in: time stands still until a case moves it, holders die when a case says so.
 *
 * Owns: short ways to make sessions and batches. Does not own: the rules (store-contract).
 */
import assert from "node:assert/strict";
import type { Clock, Timers } from "../effects.ts";
import { type ErrorCode, isPawlError } from "../error.ts";
import { encode } from "../log/codec.ts";
import type { LogRecord } from "../log/envelope.ts";
import type { AppendBatch, Holder, Store } from "../store/store.ts";
import { FakeEffects } from "./fake.ts";

export class StoreWorld {
  readonly #effects = new FakeEffects();
  readonly #dead = new Set<string>();
  #holders = 0;

  readonly clock: Clock = this.#effects.clock;
  readonly timers: Timers = this.#effects.timers;
  /** Every holder made here is of this host: known to live until {@link kill}ed, unless it is of another host. */
  readonly isAlive = (holder: Holder): boolean | undefined =>
    holder.host === "here" ? !this.#dead.has(holder.id) : undefined;

  advance(ms: number): void {
    this.#effects.advance(ms);
  }

  /** The wall clock is set: no time passes, no timer fires. */
  jump(ms: number): void {
    this.#effects.time += ms;
  }

  holder(host = "here"): Holder {
    this.#holders += 1;
    return { id: `holder-${this.#holders}`, host, boot: "boot-1", pid: 1_000 + this.#holders, start: "1" };
  }

  kill(holder: Holder): void {
    this.#dead.add(holder.id);
  }

  /** Lets the event loop and the fake timers turn until `done`; the test runner's timeout is the bound. */
  async until(done: () => boolean): Promise<void> {
    while (!done()) {
      await new Promise((resolve) => setImmediate(resolve));
      this.advance(10);
    }
  }
}

/** A store that passes answers every case; `reopen` is for stores that outlive the process. */
export interface OpenedStore {
  store: Store;
  /** Closes the store and opens what it left. */
  reopen?(): Promise<Store>;
  close(): Promise<void>;
}

export interface Scene {
  world: StoreWorld;
  store: Store;
  reopen?: () => Promise<Store>;
}

export interface StoreCase {
  title: string;
  run(scene: Scene): Promise<void>;
}

/** Records as a driver would write them, one note a text. */
export function notes(session: string, epoch: number, expectedSeq: number, ...texts: string[]): LogRecord[] {
  const events = texts.map((text) => ({ type: "note.recorded" as const, about: "test", text }));
  return encode(events, { session, epoch, expectedSeq, time: 1_900_000_000_000 + expectedSeq });
}

export async function createSession(store: Store, session: string, ...texts: string[]): Promise<void> {
  await store.create({ session, head: {}, records: notes(session, 0, 0, "created", ...texts) });
}

/** Forks `parent` at `seq`; the child has one own record. */
export async function forkSession(store: Store, session: string, parent: string, seq: number): Promise<void> {
  const records = notes(session, 0, seq, `${session} begins`);
  await store.create({ session, head: {}, parent: { session: parent, seq }, records });
}

/** A session's driver, in the plainest form: the lease, and the seq it has seen. */
export class TestDriver {
  readonly #store: Store;
  readonly session: string;
  readonly holder: Holder;
  epoch: number;
  seq: number;

  constructor(store: Store, session: string, holder: Holder, epoch: number, seq: number) {
    this.#store = store;
    this.session = session;
    this.holder = holder;
    this.epoch = epoch;
    this.seq = seq;
  }

  static async take(store: Store, session: string, holder: Holder, ttlMs = 10_000): Promise<TestDriver> {
    const answer = await store.acquireLease(session, holder, ttlMs);
    assert.ok(answer.granted, `the lease of ${session} should be free`);
    return new TestDriver(store, session, holder, answer.epoch, answer.seq);
  }

  batch(...texts: string[]): AppendBatch {
    const { session, epoch, seq } = this;
    return { session, epoch, expectedSeq: seq, records: notes(session, epoch, seq, ...texts) };
  }

  async append(...texts: string[]): Promise<void> {
    const batch = this.batch(...texts);
    // At once, so that the next append may be made before this one is answered; back again if it is refused.
    this.seq += texts.length;
    await this.#store.append(batch).catch((error) => {
      this.seq -= texts.length;
      throw error;
    });
  }
}

/** The texts of records made by {@link notes}. */
export function textsOf(records: readonly LogRecord[]): string[] {
  return records.map(({ payload }) => {
    assert.ok(payload instanceof Uint8Array);
    return JSON.parse(Buffer.from(payload).toString()).text;
  });
}

/** Everything the contract lets one see of a session. */
export async function traceOf(store: Store, session: string): Promise<unknown> {
  if (!(await store.get(session))) return undefined;
  return {
    summary: await store.get(session),
    records: await store.read(session),
    mailbox: await store.mailbox(session),
    partial: await store.readPartial(session),
  };
}

/** `work` is refused with `code`, its message shows each of `shown`, and the session is as it was before. */
export async function refused(
  scene: Scene,
  session: string,
  code: ErrorCode,
  work: () => Promise<unknown>,
  ...shown: (string | number)[]
): Promise<void> {
  const before = await traceOf(scene.store, session);
  const error = await work().then(
    () => assert.fail(`should be refused with ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(isPawlError(error), `a PawlError, got ${String(error)}`);
  assert.equal(error.code, code, error.message);
  for (const part of shown) assert.ok(error.message.includes(String(part)), `"${error.message}" should show ${part}`);
  assert.deepEqual(await traceOf(scene.store, session), before, "a refusal leaves no trace");
}
