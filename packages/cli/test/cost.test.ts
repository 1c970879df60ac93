/** What sessions have cost: every request once, lost ones apart, money only where a price is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { priceOf, pricingFor } from "../src/money.ts";
import { World } from "./pawl-world.ts";

test("a price counts what came from a cache at its own rate, and nothing where nobody said how much it was", () => {
  const price = { input: 10, output: 100, cacheRead: 1 };
  assert.equal(
    priceOf({ measure: "reported", input: 1_000_000, output: 10_000, cacheRead: 400_000, cacheWrite: 100_000 }, price),
    5 + 0.4 + 1 + 1,
  );
  assert.equal(priceOf({ measure: "unknown" }, price), undefined);
  assert.equal(
    priceOf({ measure: "reported", input: 1, cacheRead: 5 }, { input: 1_000_000, output: 0, cacheRead: 0 }),
    0,
    "never below nothing",
  );
});

test("a price is found by what --model says, by what the log says, and by the bare id; not by a name of every object", () => {
  const own = { input: 1, output: 2 };
  for (const name of ["openai:gpt-5", "gpt-5"])
    for (const model of ["openai:gpt-5", { provider: "openai.responses", id: "gpt-5" }])
      assert.equal(pricingFor({ [name]: own }, model), own);
  assert.equal(pricingFor({}, "openai:constructor"), undefined);
});

interface Line {
  session?: string;
  total?: boolean;
  sessions?: number;
  committed: { attempts: number; input: number; money: number; unpriced: number };
  lost: { attempts: number };
  models: { [model: string]: { attempts: number } };
}

test("per session and in total, a fork's beginning once; lost attempts apart; money as it was recorded then", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ text: "One." }],
    [{ text: "Tw" }, { reset: true }],
    [{ text: "Two." }],
    [{ text: "Three." }],
  ]);
  const place = world.place(server);
  world.configure({ pricing: { "openai-chat:scripted": { input: 1000, output: 0 } }, currency: "EUR" });
  const run = async (args: string[]) => assert.equal((await world.pawl(["run", "Go", ...args, ...place])).code, 0);
  await run(["--session", "a"]);
  await run(["--session", "a"]);
  await run(["--fork-from", "a", "--session", "b"]);
  world.configure({});
  const at = ["--store", world.store];
  const lines = (await world.pawl(["cost", "--json", ...at])).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const [a, b, total] = [
    lines.find(({ session }) => session === "a"),
    lines.find(({ session }) => session === "b"),
    lines.at(-1),
  ];
  assert.deepEqual([a?.committed.attempts, a?.lost.attempts, b?.committed.attempts, b?.lost.attempts], [2, 1, 1, 0]);
  assert.deepEqual(
    [
      total?.total,
      total?.sessions,
      total?.committed.attempts,
      total?.lost.attempts,
      total?.models["openai-chat:scripted"]?.attempts,
    ],
    [true, 2, 3, 1, 4],
  );
  assert.ok(a && a.committed.money > 0 && a.committed.unpriced === 0, "recorded when it was paid");
  const { stdout } = await world.pawl(["cost", ...at]);
  assert.match(
    stdout,
    /2 sessions\nanswers {2}3 requests · [\d,]+ tokens in, [\d,]+ out · [\d.]+ USD\nlost {5}1 request/,
  );
  assert.match((await world.pawl(["cost", "b", ...at])).stdout, /^answers {2}1 request · /);
});

test("without a price no money is named, and it is said which one is missing", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "One." }]]);
  await world.pawl(["run", "Go", ...world.place(server)]);
  const { stdout } = await world.pawl(["cost", "--store", world.store]);
  assert.doesNotMatch(stdout, /USD/);
  assert.match(stdout, /No price is known of openai-chat:scripted; "pricing" in the configuration/);
  assert.match((await world.pawl(["cost", "--store", `${world.root}/none`])).stdout, /0 sessions/);
});
