/** The ledger alone: when a batch leaves, and behind what. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import type { LogEvent } from "../src/log/event.ts";
import type { AppendBatch } from "../src/store/store.ts";
import { fakeHolder } from "../src/testing/fake.ts";
import { DriverLease } from "../src/turn/lease.ts";
import { type Follower, Ledger } from "../src/turn/ledger.ts";
import { Patience } from "../src/turn/patience.ts";
import { Feed } from "../src/view/feed.ts";
import { type Deferred, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

const note = (text: string): LogEvent => ({ type: "note.recorded", about: "s", text });

/** A ledger before a store that lets a batch through when the test says so. `append` may stand in its way. */
async function scene(append?: (batch: AppendBatch) => Promise<void>, followers: readonly Follower[] = []) {
  const world = new TurnWorld();
  const session = await world.session();
  const lease = await DriverLease.acquire(world.store, "s", fakeHolder("driver"), world.effects);
  /** What has left, and is let through by its gate. */
  const left: { size: number; gate: Deferred<void> }[] = [];
  const { store, effects } = world;
  const reach = store.append.bind(store);
  store.append =
    append ??
    (async (batch) => {
      const gate = deferred();
      left.push({ size: batch.records.length, gate });
      await gate.promise;
      return reach(batch);
    });
  const feed = new Feed();
  const patience = new Patience(effects, feed, 0, lease.lost);
  const ledger = new Ledger({ store, session: "s", lease, effects, feed, patience, followers });
  await ledger.load();
  const texts = async () => eventsOf(await session.entries(), "note.recorded").map(({ text }) => text);
  return { ledger, left, texts, settle: () => effects.settle() };
}

describe("ledger", () => {
  test("an offer leaves before it returns where nothing is under way, also when something was", async () => {
    const { ledger, left, texts, settle } = await scene();
    for (let nth = 0; nth < 3; nth += 1) {
      const offered = ledger.offer(note(`offered ${nth}`), () => 0);
      assert.equal(left.length, nth * 2 + 1);
      left.at(-1)?.gate.resolve();
      assert.equal(await offered, true);
      ledger.stage(note(`staged ${nth}`));
      const committed = ledger.commit();
      await settle();
      left.at(-1)?.gate.resolve();
      await committed;
    }
    assert.deepEqual(
      await texts(),
      [0, 1, 2].flatMap((nth) => [`offered ${nth}`, `staged ${nth}`]),
    );
  });

  test("followers hear of each fact as it is staged, and have their time when the batch has left and is not answered", async () => {
    const seen: string[] = [];
    const follower: Follower = {
      step: ({ event }) => void (event.type === "note.recorded" && seen.push(event.text)),
      reset: () => {},
      catchUp: () => void seen.push(`time, ${left.length} left`),
    };
    const { ledger, left, settle } = await scene(undefined, [follower]);
    ledger.stage(note("staged"));
    const committed = ledger.commit();
    await settle();
    assert.deepEqual(seen, ["staged", "time, 1 left"]);
    left[0]?.gate.resolve();
    await committed;
    const offered = ledger.offer(note("offered"), () => 0);
    assert.deepEqual(seen.slice(2), ["time, 2 left"]);
    left[1]?.gate.resolve();
    assert.equal(await offered, true);
    assert.deepEqual(seen.slice(3), ["offered"]);
  });

  test("a follower that throws while the store writes is heard of when the write has ended, whichever way", async () => {
    for (const end of ["done", "failed"] as const) {
      const gate = deferred();
      const follower: Follower = {
        step: () => {},
        reset: () => {},
        catchUp: () => {
          throw new Error("a fold's mistake");
        },
      };
      const { ledger, settle } = await scene(() => gate.promise, [follower]);
      let heard = "nothing";
      ledger.stage(note("staged"));
      const committed = ledger.commit().catch((error) => {
        heard = error.message;
      });
      await settle();
      assert.equal(heard, "nothing");
      if (end === "done") gate.resolve();
      else gate.reject(new PawlError("STORE_UNAVAILABLE", "away"));
      await committed;
      assert.equal(heard, end === "done" ? "a fold's mistake" : "away");
    }
  });

  test("batches leave one after another, whoever asks: what waits behind one is not overtaken when it lands", async () => {
    const { ledger, left, texts, settle } = await scene();
    ledger.stage(note("one"));
    const first = ledger.commit();
    await settle();
    const second = ledger.commit();
    ledger.stage(note("two"));
    left[0]?.gate.resolve();
    await settle();
    ledger.stage(note("three"));
    const third = ledger.commit();
    const offered = ledger.offer(note("four"), () => 0);
    await settle();
    assert.deepEqual(
      left.map(({ size }) => size),
      [1, 1],
    );
    left[1]?.gate.resolve();
    await settle();
    left[2]?.gate.resolve();
    await settle();
    left[3]?.gate.resolve();
    await Promise.all([first, second, third]);
    assert.equal(await offered, true);
    assert.deepEqual(await texts(), ["one", "two", "three", "four"]);
  });

  test("a store that throws instead of refusing is heard by whoever asked, and nothing follows until the log is read again", async () => {
    let broken = true;
    const { ledger } = await scene(() => {
      if (broken) throw new PawlError("STORE_UNAVAILABLE", "thrown at once");
      return Promise.resolve();
    });
    await assert.rejects(
      ledger.offer(note("one"), () => 0),
      { message: "thrown at once" },
    );
    broken = false;
    ledger.stage(note("two"));
    await assert.rejects(ledger.commit(), { message: "thrown at once" });
    await assert.rejects(
      ledger.offer(note("three"), () => 0),
      { message: "thrown at once" },
    );
    assert.deepEqual(await ledger.load(), [note("two")]);
    assert.equal(await ledger.offer(note("four"), () => 0), true);
  });
});
