import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeEffects } from "../src/testing/fake.ts";

describe("FakeEffects", () => {
  test("timers fire in order of their moment, then of their setting; a cancelled one does not", () => {
    const world = new FakeEffects();
    const fired: string[] = [];
    world.timers.after(20, () => fired.push("c"));
    world.timers.after(10, () => fired.push("a"));
    world.timers.after(10, () => {
      fired.push("b");
      world.timers.after(5, () => fired.push("b+5"));
    });
    world.timers.after(15, () => fired.push("never"))();
    const before = world.clock.now();
    world.advance(20);
    assert.deepEqual(fired, ["a", "b", "b+5", "c"]);
    assert.equal(world.clock.now() - before, 20);
    assert.equal(world.clock.monotonic(), 20);
    assert.equal(world.waiting, 0);
  });

  test("run lets time pass only when nothing else is left to do, and gives what the promise gives", async () => {
    const world = new FakeEffects();
    const wait = (ms: number) => new Promise<void>((resolve) => world.timers.after(ms, resolve));
    const seen: number[] = [];
    const work = async () => {
      for (const ms of [5, 70_000, 1]) {
        await wait(ms);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(world.clock.monotonic());
      }
      return "done";
    };
    assert.equal(await world.run(work()), "done");
    assert.deepEqual(seen, [5, 70_005, 70_006]);
    await assert.rejects(world.run(Promise.reject(new Error("no"))), /no/);
  });

  test("run gives up where nothing can settle the promise", async () => {
    await assert.rejects(new FakeEffects().run(new Promise(() => {})), /no timer waits/);
  });

  test("two worlds are the same world", () => {
    const [a, b] = [new FakeEffects(), new FakeEffects()];
    assert.deepEqual([a.id("x"), a.id("y"), a.random(), a.time], [b.id("x"), b.id("y"), b.random(), b.time]);
  });
});
