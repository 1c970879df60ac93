/** What is told of a turn does not depend on who tells it: observers of several lives, or a reader of the log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent, LogEntry } from "@pawl/core";
import { defineTool, openSession } from "@pawl/core";
import { call, faultyStore, finish, type ScriptEntry, say, think } from "@pawl/core/testing";
import fc from "fast-check";
import { arbitraryEvent } from "../../core/test/arbitrary.ts";
import { agentOf, TurnWorld } from "../../core/test/turn-world.ts";
import { observe, record, telemetryFold } from "../src/index.ts";
import { childrenPerTurn } from "../src/span.ts";
import { collector, type Seen } from "./collector.ts";

const reset = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
const entry = fc.constantFrom<ScriptEntry>(
  [...say("an answer"), finish()],
  [...think("thinking"), ...call("act", { a: 1 }, "c1"), finish("tool-calls")],
  [...call("look", {}, "c1"), ...call("act", {}, "c1"), ...call("gone", {}, ""), finish()],
  [...call("fail", {}, "c3"), ...call("look", {}, "c2"), finish()],
  [...call("act", '{"cut', "c4"), finish("length")],
  [...say("broken"), reset],
  [...think("broken"), reset],
  [...call("look", {}, "c6"), ...call("look", {}, "c7"), reset],
  [finish()],
  { reject: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) },
);
const fault = fc.record({
  append: fc.integer({ min: 1, max: 12 }),
  where: fc.constantFrom("before" as const, "inside" as const, "after" as const),
});
const manners = fc.record({
  eagerReads: fc.boolean(),
  permission: fc.constantFrom<NonNullable<Agent["permission"]>>(
    () => "allow",
    ({ effect }) => (effect === "read" ? "allow" : "ask"),
  ),
  approver: fc.constantFrom<NonNullable<Agent["approver"]>>(async () => ({ answer: "allow", by: "ann" })),
});

function toolsOf(world: TurnWorld): NonNullable<Agent["tools"]> {
  const inputSchema = { type: "object" as const };
  const later = (text: string) => () => {
    world.effects.advance(7);
    return text;
  };
  return {
    act: defineTool<unknown>({ inputSchema, execute: later("done") }),
    look: defineTool<unknown>({ inputSchema, effect: "read", locks: () => [], execute: later("seen") }),
    fail: defineTool<unknown>({ inputSchema, execute: () => assert.fail("no") }),
  };
}

function byId(spans: readonly Seen[]): Seen[] {
  return [...spans].sort((a, b) => (a.id < b.id ? -1 : 1));
}

test("random turns over several lives: observers and a reader of the log tell the same spans and figures", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 8 }),
      fc.array(fault, { maxLength: 3 }),
      manners,
      fc.constantFrom("omit" as const, "record" as const),
      async (script, faults, rest, content) => {
        const world = new TurnWorld();
        await world.session();
        const agent = agentOf([...script, ...script, ...script], { tools: toolsOf(world), stepsPerTurn: 8, ...rest });
        const live = collector();
        const ended = new Set<string>();
        for (const each of [...faults, undefined]) {
          const process = world.process(faultyStore(world.store, each && { ...each, lasts: "for-good" }));
          const session = await openSession(process, "s");
          const open = (await session.summary())?.head.openTurn !== undefined;
          const turn = open ? session.resume(agent) : session.run(agent, "go");
          // Reading the log is for a process that lives; the store of one that is dead takes nothing.
          const told = observe(turn, { ...live, content, session: await world.open() });
          const done = world.effects.run(turn.result).catch(() => {});
          for await (const item of turn)
            if (item.type === "entry" && item.entry.event.type === "turn.ended") ended.add(item.entry.event.turn);
          await Promise.all([done, told]);
          process.die();
        }
        const later = collector();
        const entries = await (await world.open()).entries();
        record(entries, { ...later, content });
        // Whoever dies between the last append and its telemetry tells nothing; the log still does.
        const heard = later.spans().filter(({ attributes }) => ended.has(String(attributes["pawl.turn.id"])));
        assert.deepEqual(byId(live.spans()), byId(heard));
        if (!faults.some(({ where }) => where === "after"))
          assert.deepEqual(await live.figures(), await later.figures());
        assertSound(later.spans());
        await Promise.all([live.close(), later.close()]);
      },
    ),
    { numRuns: 60 },
  );
});

function assertSound(spans: readonly Seen[]): void {
  const roots = new Map(spans.filter(({ parent }) => parent === undefined).map((span) => [span.id, span]));
  assert.equal(new Set(spans.map(({ id }) => id)).size, spans.length, "an id names one span");
  for (const span of spans) {
    assert.ok(span.start <= span.end, `${span.name} ends before it starts`);
    if (span.parent === undefined) continue;
    const root = roots.get(span.parent);
    assert.ok(root && root.start <= span.start && span.end <= root.end, `${span.name} lies within its turn`);
    assert.equal(span.trace, root.trace);
  }
}

test("any facts in any order, at any times: nothing throws, no span ends before it starts, nothing grows without bound", () => {
  const entries = fc.array(
    fc.record({ event: arbitraryEvent, time: fc.nat(), epoch: fc.nat(3), session: fc.constantFrom("s", "p") }),
  );
  fc.assert(
    fc.property(entries, (some) => {
      const log = some.map((one, index): LogEntry => ({ ...one, seq: index + 1 }));
      const { step, init } = telemetryFold({ session: "s", content: "record" });
      let state = init();
      for (const one of log) {
        state = step(state, one);
        for (const said of state.said)
          if (said.type === "trace")
            for (const span of [said.trace.root, ...said.trace.children]) assert.ok(span.start <= span.end, span.name);
      }
      assert.ok((state.open?.children.length ?? 0) <= childrenPerTurn);
    }),
    { numRuns: 300 },
  );
});
