/** The partial journal before a store that is slow: nothing piles up, nothing is lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../src/limit.ts";
import type { MessagePart } from "../src/log/event.ts";
import type { Store } from "../src/store/store.ts";
import { FakeEffects } from "../src/testing/fake.ts";
import { finish, say } from "../src/testing/model.ts";
import { Journal, readJournal } from "../src/turn/journal.ts";
import { agentOf, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

test("one write is under way at most; what comes meanwhile is one more", async () => {
  const effects = new FakeEffects();
  const chunks: string[] = [];
  let gate = deferred();
  const store = {
    writePartial: (_session: string, _epoch: number, _attempt: string, chunk: string) => {
      chunks.push(chunk);
      return gate.promise;
    },
  } as unknown as Store;
  const journal = new Journal(store, "s", 1, "a", effects);
  const part: MessagePart = { type: "text", id: "p", text: "" };
  const piece = "x".repeat(limit.partialChars);
  for (let nth = 0; nth < 300; nth += 1) {
    journal.grew(part, piece);
    effects.advance(limit.partialMs);
  }
  assert.equal(chunks.length, 1);
  const first = gate;
  gate = deferred();
  first.resolve();
  await effects.settle();
  assert.equal(chunks.length, 2);
  gate.resolve();
  await effects.settle();
  journal.stop();
  assert.equal(effects.waiting, 0);
  const { parts } = readJournal({ attempt: "a", epoch: 1, chunks }, "a");
  assert.deepEqual(parts, [{ ...part, text: piece.repeat(300) }]);
});

test("the batch that ends an attempt drops a journal that was written, and asks for nothing where there is none", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  const dropped: (string | undefined)[] = [];
  const append = world.store.append.bind(world.store);
  world.store.append = (batch) => {
    if (batch.records.some(({ type }) => type === "attempt.ended")) dropped.push(batch.dropPartial);
    return append(batch);
  };
  const long = "x".repeat(limit.partialChars);
  const turn = (text: string) => world.effects.run(session.run(agentOf([[...say(text), finish()]]), "go").result);
  await turn("short");
  await turn(long);
  const [short, written] = eventsOf(await session.entries(), "attempt.ended");
  assert.deepEqual([short?.end, written?.end], ["committed", "committed"]);
  assert.deepEqual(dropped, [undefined, written?.attempt]);
  assert.equal(await world.store.readPartial("s"), undefined);
});

test("a journal whose first write has no answer yet when its attempt ends, in whatever way, is dropped all the same", async () => {
  const reset = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
  for (const end of [finish(), reset]) {
    const world = new TurnWorld();
    const session = await world.session();
    const { writePartial } = world.store;
    const answered = deferred();
    let written = 0;
    world.store.writePartial = async (...chunk) => {
      written += 1;
      await writePartial.apply(world.store, chunk);
      await answered.promise;
    };
    const script = [
      [...say("x".repeat(limit.partialChars)), end],
      [...say("short"), finish()],
    ];
    const { outcome } = await world.effects.run(session.run(agentOf(script), "go").result);
    assert.deepEqual([outcome.type, written], ["completed", 1]);
    assert.equal(await world.store.readPartial("s"), undefined);
    answered.resolve();
  }
});
