/** After every way a step can fail, the real endpoints' rules accept the next request: three protocols, over HTTP. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, PROTOCOLS } from "@pawl/model-server";
import { encode } from "../src/log/codec.ts";
import type { LogEvent } from "../src/log/event.ts";
import { nodeEffects } from "../src/node/effects.ts";
import { fakeHolder } from "../src/testing/fake.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { createSession, forkSession, openSession, type Runtime, type Session } from "../src/turn/session.ts";
import { ground } from "./ground.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  input,
  logOf,
  settled,
  stepEnded,
  stepStarted,
  text,
  turnEnded,
  turnStarted,
} from "./log-builder.ts";
import { bodyTimeoutMs, breakingAt, brokenLaws } from "./turn-world.ts";
import { modelOf, serving } from "./wire-provider.ts";

interface Fault {
  title: string;
  outcome: "failed" | "aborted" | "completed";
  /** Calls without which the fault cannot come to pass. */
  least?: number;
  runtime?(runtime: Runtime, calls: number): Runtime;
  agent?(session: Session): Partial<Agent>;
}

/** `n` is asked for so that calls differ. */
const inputSchema = { type: "object" as const, properties: { n: { type: "number" as const } } };

function acting(execute: () => unknown): Pick<Agent, "tools"> {
  const timeoutMs = bodyTimeoutMs;
  return {
    tools: { act: defineTool<unknown>({ description: "acts", inputSchema, locks: () => [], timeoutMs, execute }) },
  };
}

const faults: Fault[] = [
  {
    title: "the scheduler throws",
    outcome: "failed",
    agent: () => ({ permission: () => assert.fail("the policy is broken") }),
  },
  {
    title: "the scheduler throws between starts",
    outcome: "failed",
    least: 3,
    runtime: (runtime) => breakingAt(runtime, 2),
  },
  {
    title: "the scheduler throws after some results",
    outcome: "failed",
    least: 3,
    agent: () => ({ concurrentTools: 1 }),
    runtime: (runtime, calls) => breakingAt(runtime, Math.ceil(calls / 2) + 1),
  },
  ...[2, 3].flatMap((append) =>
    (["before", "after"] as const).map(
      (where): Fault => ({
        title: `append ${append} fails once, ${where}`,
        outcome: "failed",
        runtime: (runtime) => ({ ...runtime, store: faultyStore(runtime.store, { append, where, lasts: "once" }) }),
      }),
    ),
  ),
  { title: "a body throws at once", outcome: "completed", agent: () => acting(() => assert.fail("no")) },
  {
    title: "abort in the first body",
    outcome: "aborted",
    agent: (session) => ({
      concurrentTools: 1,
      toolGraceMs: 0,
      ...acting(async () => session.abort((await session.summary())?.head.openTurn ?? "none")),
    }),
  },
];

for (const protocol of PROTOCOLS) {
  for (const { title, outcome, least = 1, runtime: faulty, agent } of faults) {
    test(`L1 R40: ${protocol}: ${title}, with 1, 3 and 8 calls: the next request is accepted, and a fork's`, async () => {
      for (const calls of [1, 3, 8].filter((count) => count >= least)) {
        const asking: Entry = [
          { text: "I will." },
          ...Array.from({ length: calls }, (_, n) => ({ call: "act", input: { n } })),
          { finish: "tool-calls" },
        ];
        await serving(
          { script: { entries: [asking], fallback: [{ text: "done" }, { finish: "stop" }] } },
          async (server) => {
            const effects = nodeEffects();
            const runtime: Runtime = { store: ground().open({ effects }), effects, holder: fakeHolder() };
            const session = await createSession(faulty?.(runtime, calls) ?? runtime);
            const plain: Agent = { model: modelOf(server, protocol), ...acting(() => "ok") };
            const failed = await session.run({ ...plain, ...agent?.(session) }, "go").result;
            assert.equal(failed.outcome.type, outcome, failed.failure?.message);
            const seq = (await session.entries()).length;
            const fork = await forkSession(runtime, { session: session.id, seq });
            for (const one of [await openSession(runtime, session.id), fork]) {
              const next = await one.run(plain, "and now?").result;
              assert.deepEqual([next.outcome.type, next.text], ["completed", "done"], next.failure?.message);
            }
            assert.deepEqual(
              server.requests.map(({ status }) => status),
              server.requests.map(() => 200),
            );
            assert.deepEqual(brokenLaws(await session.entries()), []);
          },
        );
      }
    });
  }
}

/** A step that was closed with calls open, as runtimes that do not settle leave behind: nothing can be added to it. */
const inconsistent: LogEvent[] = [
  { type: "session.created" },
  input("in1", "do it"),
  turnStarted("t1", "in1"),
  stepStarted("st1", "t1", 1),
  attemptStarted("a1", "st1"),
  attemptEnded("a1"),
  committed("a1", text("a1-1", "I will."), callPart("a1-2"), callPart("a1-3"), callPart("a1-4", "a1-2")),
  entered("a1-3"),
  settled("a1-2", "the one result there is"),
  stepEnded("st1"),
  turnEnded("t1"),
];

for (const protocol of PROTOCOLS) {
  test(`L1 L3 R40: ${protocol}: a closed turn of an old log, two of three calls unanswered: valid on the wire, unchanged on disk`, async () => {
    await serving({ script: { entries: [], fallback: [{ text: "done" }, { finish: "stop" }] } }, async (server) => {
      const effects = nodeEffects();
      const store = ground().open({ effects });
      const records = logOf(inconsistent).flatMap(({ seq, event }) =>
        encode([event], { session: "s", epoch: 0, expectedSeq: seq - 1, time: 1 }),
      );
      await store.create({ session: "s", records, head: {} });
      const session = await openSession({ store, effects, holder: fakeHolder() }, "s");
      const agent: Agent = { model: modelOf(server, protocol), ...acting(() => "ok") };
      for (const words of ["and now?", "and again?"]) {
        const next = await session.run(agent, words).result;
        assert.deepEqual([next.outcome.type, next.text], ["completed", "done"], next.failure?.message);
      }
      for (const { status, verdict } of server.requests) assert.deepEqual([status, verdict.violations], [200, []]);
      assert.deepEqual((await store.read("s")).slice(0, records.length), records);
      assert.deepEqual(
        brokenLaws(await session.entries()).filter((broken) => !broken.startsWith("L7 at 10")),
        [],
        "what is broken is the old step's end, and nothing since",
      );
    });
  });
}
