import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runSchedule } from "../src/schedule.ts";
import { rareFaults, type Settings } from "../src/settings.ts";
import { shrink } from "../src/shrink.ts";
import { corpus } from "./corpus.ts";
import { plants } from "./plants.ts";

const range = fileURLToPath(new URL("./range.ts", import.meta.url));
const planter = fileURLToPath(new URL("./plant.ts", import.meta.url));
/** A planted fault is found within so many schedules. */
const enough = 10_000;

/** The first seed from `from` on that breaks one of the laws with the fault planted. */
function found(plant: object, laws: readonly string[], from: number, to: number): string {
  const args = ["--import", planter, range, String(from), String(to), ...laws];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, PLANT: JSON.stringify(plant) },
  });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

describe("the world", () => {
  test("a seed gives one trace, and another seed another", async () => {
    const traces = new Set<number>();
    for (let seed = 1; seed <= 40; seed += 1) {
      const { hash, happened } = await runSchedule(seed);
      const again = await runSchedule(seed);
      assert.deepEqual([again.hash, again.happened], [hash, happened], `seed ${seed}`);
      traces.add(hash);
    }
    assert.equal(traces.size, 40);
  });

  test("no law is broken in a thousand schedules", async () => {
    for (let seed = 1; seed <= 1_000; seed += 1) {
      const { breaches, labels } = await runSchedule(seed);
      assert.deepEqual(breaches, [], `npm run simulate -- --seed ${seed}\n${labels.join("\n")}`);
    }
  });

  for (const fault of rareFaults) {
    test(`no law is broken where there is ${fault}`, async () => {
      for (let seed = 1; seed <= 40; seed += 1) {
        const { breaches, labels } = await runSchedule(seed, { [fault]: 0.4 });
        const again = `npm run simulate -- --seed ${seed} --set '{"${fault}":0.4}'`;
        assert.deepEqual(breaches, [], `${again}\n${labels.join("\n")}`);
      }
    });
  }

  test("a seed without rare faults is the world that it was before there were any", async () => {
    const none = Object.fromEntries(rareFaults.map((fault) => [fault, 0]));
    const { hash, settings } = await runSchedule(corpus[0]?.seed ?? 0);
    assert.ok(rareFaults.every((fault) => settings[fault] === 0));
    assert.equal((await runSchedule(corpus[0]?.seed ?? 0, none)).hash, hash);
  });

  test("a schedule that is over is held by nothing, and leaves the slow half of the collector little", () => {
    const args = ["--expose-gc", fileURLToPath(new URL("./leftover.ts", import.meta.url))];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const { slow, forGood } = JSON.parse(stdout) as { slow: number; forGood: number };
    // One turn that is held, or one stream, is more than that for each schedule.
    assert.ok(forGood < 5_000, `${forGood} bytes a schedule, for good`);
    assert.ok(slow < 120_000, `${slow} bytes a schedule, until the next full collection`);
  });

  for (const { seed, settings, why } of corpus) {
    test(`once broken: ${why}`, async () => {
      const { breaches } = await runSchedule(seed, settings);
      assert.deepEqual(breaches, []);
    });
  }
});

describe("planted faults", () => {
  for (const { title, laws, seed, ...plant } of plants) {
    test(`${title}: found`, (t) => {
      const at = found(plant, laws, seed, seed) || found(plant, laws, 1, enough);
      assert.notEqual(at, "", `no schedule of ${enough} finds it`);
      t.diagnostic(`seed and law: ${at}`);
    });
  }
});

test("a schedule that breaks a law is made small: only what that law needs is left", async () => {
  const { seed, settings } = await runSchedule(7);
  const whole = { ...settings, fork: 0.3, crash: 0.3, actions: 9, eager: true };
  const run = async (_: number, change: Partial<Settings>) => {
    const { fork, actions } = { ...whole, ...change };
    return { breaches: fork > 0 && actions >= 3 ? [{ law: "L7", session: "s", message: "" }] : [] };
  };
  const change = await shrink({ seed, settings: whole, breaches: [{ law: "L7", session: "s", message: "" }] }, run);
  const left = Object.entries({ ...whole, ...change }).filter(([, value]) => value !== 0 && value !== false);
  assert.deepEqual(
    left.map(([name]) => name).filter((name) => name !== "paceMs"),
    ["fork", "actions", "preset"],
  );
  assert.equal(change.actions, 3);
});
