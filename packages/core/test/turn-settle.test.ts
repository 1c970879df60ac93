/**
 * A failed step settles before it closes. Every way a step can fail, at 1, 3 and 8 calls: each call has one result, in
 * call order, no body ran twice, the turn ends with the original failure, and the session goes on.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { unpaired } from "../src/context/laws.ts";
import { isPawlError } from "../src/error.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { forkSession, openSession, type Runtime } from "../src/turn/session.ts";
import { agentOf, assertLawful, bodyTimeoutMs, breakingAt, eventsOf, TurnWorld } from "./turn-world.ts";

interface Scene {
  world: TurnWorld;
  runtime: Runtime;
  calls: number;
  /** Bodies entered, by call. */
  entered: Map<string, number>;
  tools: ToolSet;
}

interface Cell {
  title: string;
  /** What the turn ends with. */
  outcome: "failed" | "completed" | "aborted";
  failure?: RegExp;
  least?: number;
  agent?(scene: Scene): Partial<Agent>;
  runtime?(scene: Scene): Runtime;
}

const schema = { type: "object" as const };

const cells: Cell[] = [
  {
    title: "the scheduler throws before the first start",
    outcome: "failed",
    failure: /policy is broken/,
    agent: () => ({
      permission: () => {
        throw new Error("the policy is broken");
      },
    }),
  },
  {
    title: "the scheduler throws at the first start",
    outcome: "failed",
    failure: /timers are broken/,
    runtime: (scene) => breakingAt(scene.runtime, 1),
  },
  {
    title: "the scheduler throws between starts",
    outcome: "failed",
    failure: /timers are broken/,
    least: 3,
    runtime: (scene) => breakingAt(scene.runtime, 2),
  },
  {
    title: "the scheduler throws after some results",
    outcome: "failed",
    failure: /timers are broken/,
    least: 3,
    agent: () => ({ concurrentTools: 1 }),
    runtime: (scene) => breakingAt(scene.runtime, Math.ceil(scene.calls / 2) + 1),
  },
  ...[2, 3].flatMap((append) =>
    (["before", "inside", "after"] as const).map(
      (where): Cell => ({
        title: `append ${append} fails once, ${where}`,
        outcome: "failed",
        failure: /fails on purpose/,
        runtime: ({ runtime }) => ({ ...runtime, store: faultyStore(runtime.store, { append, where, lasts: "once" }) }),
      }),
    ),
  ),
  {
    title: "a body throws at once",
    outcome: "completed",
    agent: ({ tools }) => ({
      tools: {
        act: {
          ...tools["act"],
          execute: () => {
            throw new Error("no");
          },
        } as never,
      },
    }),
  },
  {
    title: "abort in the first body",
    outcome: "aborted",
    agent: ({ world, tools, entered }) => ({
      concurrentTools: 1,
      tools: {
        act: {
          ...tools["act"],
          execute: async (_: unknown, { callId, signal }: { callId: string; signal: AbortSignal }) => {
            entered.set(callId, 1);
            const session = await world.open();
            await session.abort((await session.summary())?.head.openTurn ?? "none");
            await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
        } as never,
      },
    }),
  },
];

function newScene(calls: number): Scene {
  const world = new TurnWorld();
  const entered = new Map<string, number>();
  const act = defineTool({
    inputSchema: schema,
    locks: () => [],
    timeoutMs: bodyTimeoutMs,
    execute: (_, { callId }) => {
      entered.set(callId, (entered.get(callId) ?? 0) + 1);
      return "done";
    },
  });
  return { world, runtime: world.process(), calls, entered, tools: { act } };
}

async function assertSettled({ calls, entered }: Scene, entries: readonly LogEntry[]): Promise<void> {
  assertLawful(entries);
  const asked = eventsOf(entries, "message.committed")
    .flatMap((event) => event.parts)
    .flatMap((part) => (part.type === "tool-call" ? part.id : []));
  assert.ok(asked.length === 0 || asked.length === calls);
  assert.deepEqual(
    eventsOf(entries, "tool.settled")
      .map((event) => event.call)
      .sort(),
    [...asked].sort(),
  );
  for (const [id, times] of entered) assert.equal(times, 1, `${id} ran ${times} times`);
  for (const { call: id, output } of eventsOf(entries, "tool.settled")) {
    if (output.code === "TOOL_NOT_STARTED")
      assert.equal(entered.get(id), undefined, "what is said not to have started has not");
  }
}

describe("a failed step settles before it closes", () => {
  for (const cell of cells) {
    for (const calls of [1, 3, 8]) {
      if (calls < (cell.least ?? 1)) continue;
      test(`L1 L7: ${cell.title}, ${calls} calls`, async () => {
        const scene = newScene(calls);
        const { world } = scene;
        await world.session();
        const asking: ScriptEntry = [
          ...Array.from({ length: calls }, (_, index) => call("act", {}, `c${index}`)).flat(),
          finish("tool-calls"),
        ];
        const agent = agentOf([asking, [...say("ok"), finish()], [...say("ok"), finish()]], {
          tools: scene.tools,
          ...cell.agent?.(scene),
        });
        const session = await openSession(cell.runtime?.(scene) ?? scene.runtime, "s");
        const result = await world.effects.run(session.run(agent, "go").result);

        assert.equal(result.outcome.type, cell.outcome);
        if (cell.failure) assert.match(result.failure?.message ?? "", cell.failure);
        await assertSettled(scene, await session.entries());

        const next = agentOf(
          [
            [...say("here"), finish()],
            [...say("here"), finish()],
          ],
          { tools: scene.tools },
        );
        await assert.rejects(world.effects.run((await world.open()).resume(next).result), (error) =>
          isPawlError(error, "INVALID_INPUT"),
        );
        const seq = (await session.entries()).length;
        const again = await world.effects.run((await world.open()).run(next, "and?").result);
        assert.deepEqual(again.outcome, { type: "completed" });
        const fork = await forkSession(world.process(), { session: "s", seq }, "fork");
        assert.equal((await world.effects.run(fork.run(next, "or?").result)).text, "here");
        for (const { prompt } of next.model.requests) assert.deepEqual(unpaired(prompt), []);
        await assertSettled(scene, await session.entries());
      });
    }
  }
});
