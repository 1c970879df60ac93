import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import type { Store } from "../src/store/store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession, type Turn } from "../src/turn/session.ts";
import type { LiveItem } from "../src/view/live.ts";
import { agentOf, assertLawful, deferred, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const writes = new Set(["append", "post", "acquireLease", "renewLease", "releaseLease", "putBlob", "writePartial"]);

/** A disk that somebody fills and empties. `refused` counts the appends that it had no room for. */
function disk(store: Store) {
  const state = { full: false, refused: 0, store };
  state.store = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...given: unknown[]): Promise<unknown> => {
        if (!state.full || !writes.has(String(name))) return Reflect.apply(member, target, given);
        if (name === "append") state.refused += 1;
        throw new PawlError("STORE_FULL", "there is no space left on the disk: nothing was written; free some");
      };
    },
  });
  // To watch is synchronous.
  const { store: proxied } = state;
  state.store = new Proxy(proxied, {
    get: (target, name) => (name === "watch" ? store.watch.bind(store) : Reflect.get(target, name)),
  });
  return state;
}

async function heard(turn: Turn): Promise<LiveItem[]> {
  const items: LiveItem[] = [];
  for await (const item of turn) items.push(item);
  return items;
}

async function world() {
  const world = new TurnWorld();
  await world.session();
  const full = disk(world.store);
  const session = await openSession(world.process(full.store), "s");
  return { world, full, session };
}

describe("a full disk", () => {
  for (const hint of [true, false])
    test(`a steer that comes meanwhile${hint ? "" : ", unheard,"} goes in; the pause is told once, and that it is over`, async () => {
      const { world: w, full, session } = await world();
      if (!hint) w.store.watch = () => () => {};
      const execute = async () => {
        full.full = true;
        return "ok";
      };
      const act = defineTool({ inputSchema: { type: "object" as const }, effect: "idempotent", execute });
      const agent = agentOf([[...call("act", {}), finish()], answer], { tools: { act } });
      const turn = session.run(agent, "go");
      const items = heard(turn);
      w.effects.timers.after(1_500, async () => {
        await (await w.open()).post("steer", "left, please");
        if (!hint) full.full = false;
      });
      // Tried in between, with what it has heard of, and in vain.
      w.effects.timers.after(10_000, () => {
        full.full = false;
      });
      await w.effects.run(turn.result);
      const told = (await items).filter(({ type }) => type === "paused" || type === "resumed").map(({ type }) => type);
      assert.deepEqual(told, ["paused", "resumed"]);
      assert.match(JSON.stringify(agent.model.requests[1]?.prompt), /left, please/);
      assertLawful(await session.entries());
    });

  test("R57: in the middle of tools: what runs ends, nothing new begins; when space returns nothing is lost", async () => {
    const { world: w, full, session } = await world();
    const gate = deferred();
    const entered: string[] = [];
    const act = defineTool({
      inputSchema: { type: "object" as const },
      execute: async (_, { callId }) => {
        entered.push(callId);
        full.full = entered.length === 1;
        await gate.promise;
        return "acted";
      },
    });
    const script = [[...call("act", {}, "c1"), ...call("act", {}, "c2"), finish()], answer] as ScriptEntry[];
    const turn = session.run(agentOf(script, { tools: { act } }), "go");
    const items = heard(turn);
    await w.effects.settle();
    gate.resolve();
    await w.effects.settle();
    w.effects.advance(60_000);
    await w.effects.settle();
    // The second call waits for its entry; its lease has run out by its own clock meanwhile, and nobody else's.
    assert.equal(entered.length, 1);
    assert.ok(full.refused >= 1);
    const paused = await session.entries();
    full.full = false;
    const result = await w.effects.run(turn.result);
    assert.deepEqual(result.outcome, { type: "completed" });
    assert.equal(entered.length, 2);
    const after = await session.entries();
    assert.deepEqual(after.slice(0, paused.length), paused);
    assert.deepEqual(
      eventsOf(after, "tool.settled").map(({ output }) => outputText(output)),
      ["acted", "acted"],
    );
    assertLawful(after);
    const told = (await items).filter(({ type }) => type === "paused" || type === "resumed").map(({ type }) => type);
    assert.deepEqual(told, ["paused", "resumed"]);
  });

  test("R57: whoever subscribes later is told that it pauses", async () => {
    const { world: w, full, session } = await world();
    const gate = deferred();
    const turn = session.run(agentOf([[...say("do"), { until: gate.promise }, finish()], answer]), "go");
    await w.effects.settle();
    full.full = true;
    gate.resolve();
    await w.effects.settle();
    const first = await turn[Symbol.asyncIterator]().next();
    assert.equal((first.value as LiveItem).type, "paused");
    full.full = false;
    await w.effects.run(turn.result);
  });

  test("R57: it gives up in the end: the session reads as interrupted, and resumes where it was", async () => {
    const { world: w, full, session } = await world();
    const act = defineTool({
      inputSchema: { type: "object" as const },
      execute: () => {
        full.full = true;
        return "acted";
      },
    });
    const agent = agentOf([[...call("act", {}), finish()]], { tools: { act }, pauseMs: 100_000 });
    await assert.rejects(w.effects.run(session.run(agent, "go").result), { code: "STORE_FULL" });
    assert.ok(w.effects.clock.monotonic() >= 100_000);
    full.full = false;
    assert.ok((await session.summary())?.head.openTurn, "interrupted, not ended");
    // Its lease could not be given back: it runs out.
    w.effects.advance(60_000);
    const again = await w.open();
    const result = await w.effects.run(again.resume(agentOf([answer], { tools: { act } })).result);
    assert.deepEqual(result.outcome, { type: "completed" });
    // The body ran, and no record says how it ended: that is what the model is told.
    const [settled] = eventsOf(await again.entries(), "tool.settled");
    assert.equal(settled?.output.code, "TOOL_OUTCOME_UNKNOWN");
    assertLawful(await again.entries());
  });

  test("R57: a person who stops it need not wait for space", async () => {
    const { world: w, full, session } = await world();
    const stop = new AbortController();
    const gate = deferred();
    const turn = session.run(agentOf([[...say("do"), { until: gate.promise }, finish()]]), "go", {
      signal: stop.signal,
    });
    await w.effects.settle();
    full.full = true;
    gate.resolve();
    await w.effects.settle();
    stop.abort();
    await assert.rejects(w.effects.run(turn.result), { code: "STORE_FULL" });
    assert.equal(w.effects.clock.monotonic(), 0);
  });

  test("R57: an input that there is no room for is refused, not half accepted", async () => {
    const { world: w, full, session } = await world();
    full.full = true;
    await assert.rejects(w.effects.run(session.run(agentOf([answer]), "go").result), { code: "STORE_FULL" });
    await assert.rejects(session.post("steer", "left"), { code: "STORE_FULL" });
    full.full = false;
    assert.deepEqual(await w.mailbox(), []);
  });
});
