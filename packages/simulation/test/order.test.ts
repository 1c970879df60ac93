/** What is typed is understood, or refused in one line that says what to type. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { OrderError, orderOf } from "../src/order.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

describe("an order", () => {
  test("one schedule, with what is to be different", () => {
    const change = { fork: 0, eager: true, preset: "replace" };
    const order = orderOf(["--seed", "324", "--set", JSON.stringify(change)]);
    assert.deepEqual(order, { kind: "one", seed: 324, change, store: "memory" });
  });

  test("a range, on as many threads as are asked for", () => {
    const order = orderOf(["--seeds", "5..5", "--workers", "3"]);
    assert.deepEqual(order, { kind: "many", range: { from: 5, to: 5 }, workers: 3, store: "memory" });
  });

  test("on another store", () => {
    for (const store of ["sqlite", "postgres://postgres@127.0.0.1:5432/db"])
      assert.equal(orderOf(["--seed", "1", "--store", store]).store, store);
  });

  const refused: [string[], RegExp][] = [
    [["--workers", "0"], /--workers is 1 to 256, is "0"/],
    [["--workers", "two"], /--workers is a whole number, is "two"/],
    [["--seed", "abc"], /--seed is a whole number, is "abc"/],
    [["--seed", "99999999999999999999"], /--seed is a whole number/],
    [["--seeds", "9..1"], /--seeds is FROM\.\.TO, for example 1\.\.1000, is "9\.\.1"/],
    [["--seeds", "1-9"], /--seeds is FROM\.\.TO/],
    [["--seed", "1", "--set", "{fork:0}"], /--set is JSON/],
    [["--seed", "1", "--set", "[1]"], /--set is an object/],
    [["--seed", "1", "--set", '{"frok":0}'], /--set has no "frok"; known are appendBefore, /],
    [["--seed", "1", "--set", '{"fork":"no"}'], /--set: fork is a number, is "no"/],
    [["--seed", "1", "--set", '{"preset":"all"}'], /--set: preset is default or replace or preserve, is "all"/],
    [["--store", "mysql://db"], /--store is memory, sqlite or postgres:\/\/\.\.\., is "mysql:\/\/db"/],
    [["--set", "{}"], /--set changes one schedule/],
    [["--speed", "9"], /known are --seeds/],
    [["7"], /known are --seeds/],
  ];
  for (const [argv, said] of refused) {
    test(`${argv.join(" ")} is refused in one line`, () => {
      assert.throws(
        () => orderOf(argv),
        (error: unknown) => error instanceof OrderError && said.test(error.message) && !error.message.includes("\n"),
      );
    });
  }

  test("the command ends with 2 and says it without a stack", () => {
    const { status, stderr } = spawnSync(process.execPath, [main, "--workers", "0"], { encoding: "utf8" });
    assert.deepEqual([status, stderr.trim().split("\n").length], [2, 1], stderr);
  });
});

test("a range ends with one line that can be recorded", () => {
  const { status, stdout } = spawnSync(process.execPath, [main, "--seeds", "1..3", "--workers", "1"], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
  const line = /^seeds 1\.\.3: 3 schedules, \d+ records, \d+ events, [\d.]+ s, \d+ a second, 0 broken, commit \w+\n$/;
  assert.match(stdout, line);
});
