import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type CallProgress, conflict, startable } from "../src/tool/plan.ts";
import { everything, type Lock } from "../src/tool/tool.ts";

interface Planned {
  id: number;
  locks: Lock[];
  progress: CallProgress;
}

const lock = fc.record<Lock>({ key: fc.constantFrom("a", "b", "c", "*"), mode: fc.constantFrom("read", "write") });
const locks = fc.array(lock, { maxLength: 3 });
const calls = fc
  .array(locks, { minLength: 1, maxLength: 12 })
  .map((all) => all.map((one, id): Planned => ({ id, locks: one, progress: "waiting" })));
const bound = fc.integer({ min: 1, max: 8 });

function overlap(all: readonly Planned[]): boolean {
  const running = all.filter((call) => call.progress === "running");
  return running.some((one, at) => running.slice(at + 1).some((other) => conflict(one.locks, other.locks)));
}

test("conflict: the same key, or one that is everything, unless both only read", () => {
  const read = (key: string): Lock => ({ key, mode: "read" });
  const write = (key: string): Lock => ({ key, mode: "write" });
  assert.ok(conflict([write("a")], [read("a")]));
  assert.ok(conflict([read("a")], [everything]));
  assert.ok(!conflict([read("a")], [read("a"), read("*")]));
  assert.ok(!conflict([write("a")], [write("b")]));
  assert.ok(!conflict([], [everything]));
});

test("L6: whatever the locks and the order of ends: bounded, no conflict overlaps, conflicts in call order, nothing starves", () => {
  fc.assert(
    fc.property(calls, bound, fc.array(fc.nat()), (all, most, ends) => {
      const started: number[] = [];
      const turns = [...ends];
      while (all.some((call) => call.progress !== "ended")) {
        for (const call of startable(all, most)) {
          call.progress = "running";
          started.push(call.id);
        }
        const running = all.filter((call) => call.progress === "running");
        assert.ok(running.length > 0, "something always runs");
        assert.ok(running.length <= most);
        assert.ok(!overlap(all));
        const ending = running[(turns.shift() ?? 0) % running.length];
        if (ending) ending.progress = "ended";
      }
      for (const [at, later] of started.entries()) {
        for (const earlier of started.slice(0, at)) {
          const [a, b] = [all[earlier], all[later]];
          if (a && b && conflict(a.locks, b.locks)) assert.ok(earlier < later, `${later} before ${earlier}`);
        }
      }
    }),
  );
});

test("L6: a call that waits for a person holds its place before those that conflict, and stops no other", () => {
  const own = (key: string): Lock[] => [{ key, mode: "write" }];
  const all: Planned[] = [
    { id: 0, locks: own("a"), progress: "asking" },
    { id: 1, locks: own("a"), progress: "waiting" },
    { id: 2, locks: own("b"), progress: "waiting" },
  ];
  assert.deepEqual(
    startable(all, 8).map((call) => call.id),
    [2],
  );
});
