/** After every way a step can fail, the real endpoints' rules accept the next request: three protocols, over HTTP. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, PROTOCOLS } from "@pawl/model-server";
import { nodeEffects } from "../src/node/effects.ts";
import { memoryStore } from "../src/store/memory.ts";
import { fakeHolder } from "../src/testing/fake.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { createSession, type Runtime, type Session } from "../src/turn/session.ts";
import { brokenLaws } from "./turn-world.ts";
import { modelOf, serving } from "./wire-provider.ts";

interface Fault {
  title: string;
  outcome: "failed" | "aborted" | "completed";
  store?(runtime: Runtime): Runtime["store"];
  agent?(session: Session): Partial<Agent>;
}

/** `n` is asked for so that calls differ. */
const inputSchema = { type: "object" as const, properties: { n: { type: "number" as const } } };

function acting(execute: () => unknown): Pick<Agent, "tools"> {
  return { tools: { act: defineTool<unknown>({ description: "acts", inputSchema, locks: () => [], execute }) } };
}

const faults: Fault[] = [
  {
    title: "the scheduler throws",
    outcome: "failed",
    agent: () => ({ permission: () => assert.fail("the policy is broken") }),
  },
  {
    title: "an append fails once",
    outcome: "failed",
    store: ({ store }) => faultyStore(store, { append: 2, where: "after", lasts: "once" }),
  },
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
  for (const { title, outcome, store, agent } of faults) {
    test(`L1 R40: ${protocol}: ${title}, with 1, 3 and 8 calls: the next request is accepted`, async () => {
      for (const calls of [1, 3, 8]) {
        const asking: Entry = [
          { text: "I will." },
          ...Array.from({ length: calls }, (_, n) => ({ call: "act", input: { n } })),
          { finish: "tool-calls" },
        ];
        await serving(
          { script: { entries: [asking], fallback: [{ text: "done" }, { finish: "stop" }] } },
          async (server) => {
            const effects = nodeEffects();
            const runtime: Runtime = { store: memoryStore({ clock: effects.clock }), effects, holder: fakeHolder() };
            const session = await createSession({ ...runtime, store: store?.(runtime) ?? runtime.store });
            const plain: Agent = { model: modelOf(server, protocol), ...acting(() => "ok") };
            const failed = await session.run({ ...plain, ...agent?.(session) }, "go").result;
            assert.equal(failed.outcome.type, outcome, failed.failure?.message);
            const next = await session.run(plain, "and now?").result;
            assert.deepEqual([next.outcome.type, next.text], ["completed", "done"], next.failure?.message);
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
