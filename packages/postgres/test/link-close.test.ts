/** What was accepted before a store is closed has ended before its connections do, and nothing is accepted afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeEffects } from "@pawl/core/node";
import type { Database } from "../src/database.ts";
import { Link } from "../src/link.ts";

const { timers } = nodeEffects();
const closed = { code: "STORE_CLOSED" };

function linkTo(said: string[]): Link {
  const database: Database = {
    ask: async () => ({ rows: [], count: 0 }),
    transaction: () => Promise.reject(new Error("there are none here")),
    spare: false,
    lockMs: 1,
    close: async () => void said.push("connections closed"),
  };
  return new Link(database, '"pawl"', timers, 0);
}

test("closing waits for each thing that was accepted, those that fail among them, and for nothing else", async () => {
  const said: string[] = [];
  const link = linkTo(said);
  const ends = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const [tried, waits, once] = ends.map(
    ({ promise }) =>
      () =>
        promise,
  );
  assert.ok(tried && waits && once);
  await link.run(async () => {});
  const all = [
    link.run(tried),
    link.inTurn(
      (work) => waits().then(work),
      async () => {},
    ),
    link.once(once),
  ];
  const heard = Promise.allSettled(all);
  const close = link.close(async () => void said.push("last"));
  for (const late of [link.run(tried), link.inTurn((work) => work(), tried), link.once(tried)])
    await assert.rejects(late, closed);
  for (const [nth, end] of ends.entries()) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(said, [], `${ends.length - nth} have not ended`);
    if (nth === 1) end.resolve();
    else end.reject(new Error("on purpose"));
  }
  await close;
  assert.deepEqual(said, ["last", "connections closed"]);
  assert.deepEqual(
    (await heard).map(({ status }) => status),
    ["rejected", "fulfilled", "rejected"],
  );
  await link.close(async () => void said.push("closed twice"));
  assert.equal(said.length, 2);
});

test("closing where nothing is under way waits for nothing", async () => {
  const said: string[] = [];
  await linkTo(said).close(async () => void said.push("last"));
  assert.deepEqual(said, ["last", "connections closed"]);
});
