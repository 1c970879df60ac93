/**
 * Every operation, cut at every point: at the n-th piece of traffic for n = 1, 2, 3 ... until it ends without a fault.
 * Nothing acknowledged is lost, nothing is done twice, and what was asked for is there.
 */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, describe, test } from "node:test";
import type { Holder, LogRecord } from "@pawl/core";
import { noteRecords } from "@pawl/core/testing";
import { type PostgresStore, postgresStore } from "../src/index.ts";
import { type Line, Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
after(() => server.end());

const holder: Holder = { id: "h", host: "here", boot: "b", pid: 1, start: "1" };
const ttlMs = 60_000;

const ways = ["the request is lost", "the answer is lost", "the answer is torn"] as const;
type Way = (typeof ways)[number];

/** Strikes the n-th piece once; of the line that listens nothing is asked here. */
class Striker {
  struck = false;
  readonly #listening = new WeakSet<Line>();
  #way: Way | undefined;
  #left = 0;

  constructor(network: Network) {
    network.onRequest = (bytes, line) => {
      if (bytes.includes("LISTEN")) this.#listening.add(line);
      if (!this.#hits("the request is lost", line)) return undefined;
      line.reset();
      return "drop";
    };
    network.onAnswer = (bytes, line) => {
      const torn = this.#hits("the answer is torn", line);
      if (!torn && !this.#hits("the answer is lost", line)) return undefined;
      // After the half that still passes.
      setImmediate(line.reset);
      return bytes.subarray(0, torn ? Math.floor(bytes.length / 2) : 0);
    };
  }

  arm(way: Way, nth: number): void {
    this.struck = false;
    this.#way = way;
    this.#left = nth;
  }

  #hits(way: Way, line: Line): boolean {
    if (way !== this.#way || this.#listening.has(line)) return false;
    this.#left -= 1;
    this.struck ||= this.#left === 0;
    return this.#left === 0;
  }
}

interface Scene {
  store: PostgresStore;
  truth: PostgresStore;
  session: string;
  epoch: number;
}

interface Operation {
  /** Whose session has a lease already. */
  driven?: true;
  act(scene: Scene): Promise<unknown>;
  holds(scene: Scene, answer: unknown): Promise<void>;
}

function texts(records: readonly LogRecord[]): string[] {
  return records.map(({ payload }) => JSON.parse(Buffer.from(payload as Uint8Array).toString()).text);
}

const left = new Uint8Array(Buffer.from('{"about":"test","text":"[erased]"}'));

const operations: { [name: string]: Operation } = {
  append: {
    driven: true,
    async act({ store, session, epoch }) {
      const records = noteRecords(session, epoch, 1, "one", "two");
      await store.append({ session, epoch, expectedSeq: 1, records, head: { title: "t" }, consume: ["p"] });
    },
    async holds({ truth, session }) {
      assert.deepEqual(texts(await truth.read(session)), ["created", "one", "two"]);
      assert.deepEqual(await truth.mailbox(session), []);
      assert.equal((await truth.get(session))?.head.title, "t");
    },
  },
  post: {
    act: ({ store, session }) => store.post(session, { id: "mine", kind: "input", body: "said" }),
    async holds({ truth, session }) {
      const ids = (await truth.mailbox(session)).map(({ id }) => id);
      assert.deepEqual(ids, ["p", "mine"]);
    },
  },
  acquireLease: {
    act: ({ store, session }) => store.acquireLease(session, holder, ttlMs),
    async holds({ truth, session }, answer) {
      const { granted, epoch } = answer as { granted: boolean; epoch: number };
      assert.ok(granted);
      await truth.append({ session, epoch, expectedSeq: 1, records: noteRecords(session, epoch, 1, "driven") });
    },
  },
  renewLease: {
    driven: true,
    act: ({ store, session, epoch }) => store.renewLease(session, epoch, ttlMs * 2),
    async holds({ truth, session, epoch }, answer) {
      assert.equal(answer, true);
      assert.equal((await truth.get(session))?.lease?.epoch, epoch);
    },
  },
  releaseLease: {
    driven: true,
    act: ({ store, session, epoch }) => store.releaseLease(session, epoch),
    async holds({ truth, session }) {
      assert.equal((await truth.get(session))?.lease, undefined);
    },
  },
  claimWork: {
    async act({ store, truth, session }) {
      for (const more of ["a", "b", "c"]) {
        await truth.create({
          session: `${session}-${more}`,
          head: {},
          records: noteRecords(`${session}-${more}`, 0, 0, "created"),
        });
        await truth.post(`${session}-${more}`, { id: "p", kind: "input", body: "said" });
      }
      return store.claimWork(holder, { limit: 2, ttlMs });
    },
    async holds({ truth }, answer) {
      const claims = answer as { session: string; epoch: number }[];
      assert.equal(claims.length, 2);
      const leased = (await truth.list()).flatMap(({ session, lease }) =>
        lease ? { session, epoch: lease.epoch } : [],
      );
      const byName = (a: { session: string }, b: { session: string }) => (a.session < b.session ? -1 : 1);
      assert.deepEqual(leased.sort(byName), [...claims].sort(byName), "no lease that nobody knows of");
      for (const { session } of await truth.list()) await truth.delete(session);
    },
  },
  create: {
    async act({ store, session }) {
      const records = noteRecords(`${session}-new`, 0, 0, "a", "b");
      await store.create({ session: `${session}-new`, head: { title: "new" }, records });
    },
    async holds({ truth, session }) {
      assert.deepEqual(texts(await truth.read(`${session}-new`)), ["a", "b"]);
    },
  },
  fork: {
    async act({ store, session }) {
      const records = noteRecords(`${session}-fork`, 0, 1, "child");
      await store.create({ session: `${session}-fork`, head: {}, records, parent: { session, seq: 1 } });
    },
    async holds({ truth, session }) {
      assert.deepEqual(texts(await truth.read(`${session}-fork`)), ["created", "child"]);
    },
  },
  restore: {
    async act({ store, session }) {
      const id = `${session}-restored`;
      const records = noteRecords(id, 3, 0, "a", "b", "c");
      async function* batches() {
        yield records.slice(0, 2);
        yield records.slice(2);
      }
      return store.restore({ session: id, head: {}, batches: batches() }).then(
        () => "restored",
        (error) => error.code,
      );
    },
    async holds({ truth, session }, answer) {
      const id = `${session}-restored`;
      const found = await truth.get(id);
      if (answer === "restored") assert.deepEqual(texts(await truth.read(id)), ["a", "b", "c"]);
      else assert.equal(answer, "STORE_UNAVAILABLE");
      // What was refused is not there: its id is free for another try.
      assert.equal(found !== undefined, answer === "restored");
    },
  },
  erase: {
    driven: true,
    async act({ store, session, epoch }) {
      const [record] = noteRecords(session, 0, 0, "created");
      const erased = hash("sha256", record?.payload as Uint8Array, "hex");
      await store.erase({ session, epoch, seq: 1, payload: { erased, left, seal: "5".repeat(32) } });
    },
    async holds({ truth, session }) {
      const [record] = await truth.read(session);
      assert.ok(record && !(record.payload instanceof Uint8Array));
    },
  },
  delete: {
    act: ({ store, session }) => store.delete(session),
    async holds({ truth, session }) {
      await truth.sweep();
      assert.equal(await truth.get(session), undefined);
      const records = noteRecords(session, 0, 0, "again");
      await assert.rejects(truth.create({ session, head: {}, records }), { code: "SESSION_EXISTS" });
    },
  },
  setName: {
    act: ({ store, session }) => store.setName(`name ${session}`, session, null),
    async holds({ truth, session }, answer) {
      assert.equal(answer, true);
      assert.equal(await truth.resolveName(`name ${session}`), session);
    },
  },
  putBlob: {
    act: ({ store, session }) => store.putBlob(Buffer.from(session)),
    async holds({ truth, session }, answer) {
      assert.deepEqual(Buffer.from((await truth.getBlob(answer as string)) ?? []), Buffer.from(session));
    },
  },
  saveSnapshot: {
    act: ({ store, session }) =>
      store.saveSnapshot(session, { reducer: "r", version: 1, seq: 1, checksum: "c", bytes: left }),
    async holds({ truth, session }) {
      assert.equal((await truth.loadSnapshot(session, "r"))?.checksum, "c");
    },
  },
};

/** Statements are the same; what a statement is made of on the way differs. */
const alsoPooled = ["append", "claimWork", "setName"];

for (const mode of ["own", "pooled"] as const) {
  describe(`L3 L8: cut at the n-th piece, ${mode}`, () => {
    for (const [name, { driven, act, holds }] of Object.entries(operations)) {
      if (mode === "pooled" && !alsoPooled.includes(name)) continue;
      test(name, { timeout: 60_000 }, async (t) => {
        const network = await Network.to(server.port);
        const schema = server.schema();
        const isAlive = () => undefined;
        const url = server.url("postgres", network.port);
        const striker = new Striker(network);
        const store = await postgresStore({ url, schema, connections: 1, isAlive, mode });
        const truth = await postgresStore({ url: server.url("postgres"), schema, connections: 1, isAlive });
        let strikes = 0;
        for (const [way, word] of ways.entries()) {
          for (let nth = 1, struck = true; struck; nth += 1) {
            const session = `s-${way}-${nth}`;
            await truth.create({ session, head: {}, records: noteRecords(session, 0, 0, "created") });
            await truth.post(session, { id: "p", kind: "input", body: "before" });
            const lease = driven ? await truth.acquireLease(session, holder, ttlMs) : undefined;
            const scene: Scene = { store, truth, session, epoch: lease?.granted ? lease.epoch : 0 };
            striker.arm(word, nth);
            const answer = await act(scene);
            struck = striker.struck;
            strikes += struck ? 1 : 0;
            await holds(scene, answer).catch((error) => {
              throw new Error(`${word}, n = ${nth}: ${error}`, { cause: error });
            });
          }
        }
        t.diagnostic(`${strikes} strikes`);
        assert.ok(strikes >= ways.length);
        await Promise.all([store.close(), truth.close()]);
        await network.close();
      });
    }
  });
}
