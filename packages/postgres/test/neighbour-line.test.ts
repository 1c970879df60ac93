/** The second connection of a worker: how long it is silent, and that none is left behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timers } from "@pawl/core/store";
import type { Database, Row } from "../src/database.ts";
import { Link } from "../src/link.ts";
import { Neighbour } from "../src/neighbour.ts";

const ring = 1;
const [own, other] = [5, 7];

/** What is due at once. */
function timersOf(due: (ms: number) => boolean): Timers {
  return {
    after(ms, fn) {
      let on = due(ms);
      setImmediate(() => on && fn());
      return () => {
        on = false;
      };
    },
  };
}

/** A database of one reserved connection after another, which `answer` answers. */
function databaseOf(answer: (text: string) => readonly Row[] | Promise<readonly Row[]>) {
  const count = { reserved: 0, released: 0 };
  const database: Database = {
    ask: async () => ({ rows: [], count: 0 }),
    transaction: () => Promise.reject(new Error("there are none here")),
    reserve: async () => {
      count.reserved += 1;
      const release = async () => {
        count.released += 1;
      };
      return { query: async (text) => answer(text), release };
    },
    spare: true,
    lockMs: 4_800,
    close: async () => {},
  };
  return { database, count };
}

test("a wait for another worker's end is over before its line would count as dead", async () => {
  const waited = Promise.withResolvers<number>();
  const over = Promise.withResolvers<readonly Row[]>();
  const { database, count } = databaseOf((text) => {
    if (text.includes("pg_locks")) return [{ mark: own }, { mark: other }];
    if (!text.includes("lock_shared")) return [{ pid: 1 }];
    waited.resolve(Number(/lock_timeout', '(\d+)ms'/.exec(text)?.[1]));
    return over.promise;
  });
  const timers = timersOf(() => false);
  const neighbour = new Neighbour(new Link(database, "pawl", timers, 0), timers, ring, { onGone: () => {} });
  neighbour.begin(own);
  assert.ok((await waited.promise) <= database.lockMs);
  const ended = neighbour.end();
  over.resolve([]);
  await ended;
  assert.deepEqual(count, { reserved: 1, released: 1 });
});

test("a connection that does not take its settings is given back before the next one is asked for", async () => {
  const thrice = Promise.withResolvers<void>();
  const { database, count } = databaseOf(() => {
    assert.equal(count.reserved - count.released, 1);
    if (count.reserved === 3) thrice.resolve();
    throw new Error("not today");
  });
  const timers = timersOf((ms) => ms === 250);
  const neighbour = new Neighbour(new Link(database, "pawl", timers, 0), timers, ring, { onGone: () => {} });
  neighbour.begin(own);
  await thrice.promise;
  await neighbour.end();
  assert.equal(count.released, count.reserved);
});
