/** A copy of a session that somebody drives meanwhile: it is refused, and never said to be whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import {
  type Agent,
  createSession,
  defineTool,
  isTaskSession,
  openSession,
  type Runtime,
  type Subagent,
  type ToolSet,
  taskTool,
} from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, faultyStore, finish, say, scriptedModel } from "@pawl/core/testing";
import { copyOne, familyOf, type Tally } from "../src/copy.ts";

const agent = () => ({ model: scriptedModel([[...say("done"), finish()]]) });
const tally = (): Tally => ({ copied: 0, there: 0, records: 0, problems: [] });

/** Does something before the mailbox is read, which is the last that is copied. */
function beforeMail(runtime: Runtime, act: () => Promise<unknown>): Runtime {
  const { store } = runtime;
  const mailbox = async (session: string) => {
    await act();
    return store.mailbox(session);
  };
  const seen = new Proxy(store, {
    get(target, name) {
      if (name === "mailbox") return mailbox;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { ...runtime, store: seen };
}

test("L3: a post that a turn takes up while its session is copied is not lost without a word", async () => {
  const [source, target] = [memoryRuntime(), memoryRuntime()];
  const session = await createSession(source, "one");
  await session.post("input", "it waits", "waits");
  const taken = beforeMail(source, () => session.run(agent(), "it waits", { id: "waits" }).result);
  const counted = tally();
  await assert.rejects(copyOne(taken, target, "one", counted), {
    code: "CONFLICT",
    message: /gone on while it was copied, by \d+ records; delete the copy and copy it again/,
  });
  assert.equal(counted.copied, 0);
  await target.store.delete("one");
});

test("L8: one that somebody began to drive since it was listed is refused", async () => {
  const [source, target] = [memoryRuntime(), memoryRuntime()];
  const session = await createSession(source, "one");
  await session.post("input", "it waits");
  const leased = beforeMail(source, () => source.store.acquireLease("one", source.holder, 60_000));
  await assert.rejects(copyOne(leased, target, "one", tally()), { code: "SESSION_BUSY" });
  await assert.rejects(copyOne(source, memoryRuntime(), "one", tally()), { code: "SESSION_BUSY" });
});

/** Gives a task, whose agent acts; both go on wherever their requests stand. */
function giver(runtime: Runtime, acted: () => void): Agent {
  const model = (tool: string, input: object): LanguageModelV4 => ({
    ...scriptedModel([]),
    doStream: (options) =>
      scriptedModel([
        options.prompt.at(-1)?.role === "user"
          ? [...call(tool, input), finish("tool-calls")]
          : [...say("it is done"), finish()],
      ]).doStream(options),
  });
  const act = defineTool({ inputSchema: { type: "object" as const }, execute: () => acted() });
  const doer: Subagent = {
    description: "does it",
    workspace: "writes",
    agent: { model: model("act", {}), tools: { act } },
  };
  const task = taskTool({ runtime, agents: { doer } });
  return { model: model("task", { agent: "doer", prompt: "do it" }), tools: { task } as ToolSet };
}

/** A task was done, and the process died before its session heard of it. */
async function cutOff(acted: () => void): Promise<{ source: Runtime; child: string }> {
  for (let append = 1; append < 40; append += 1) {
    const source = memoryRuntime();
    const { store } = source;
    await createSession(source, "other");
    await createSession(source, "one");
    const dying = { ...source, store: faultyStore(store, { append, where: "before", lasts: "for-good" }) };
    await (await openSession(dying, "one")).run(giver(dying, acted), "go").result.catch(() => {});
    const all = await store.list();
    for (const { session, lease } of all) if (lease) await store.releaseLease(session, lease.epoch);
    const child = all.find(({ session, head }) => isTaskSession(session) && head.outcome === "completed");
    if (child && all.some(({ session, head }) => session === "one" && head.openTurn))
      return { source, child: child.session };
  }
  return assert.fail("no append leaves the task done and its session open");
}

test("L4: a session goes with its tasks, and what they have done is not done again over there", async () => {
  let acts = 0;
  const { source, child } = await cutOff(() => {
    acts += 1;
  });
  const target = memoryRuntime();
  const family = await familyOf(source, "one");
  assert.deepEqual(family, [child, "one"], "the task first: its session may be claimed as soon as it is there");
  for (const session of family) await copyOne(source, target, session, tally());
  acts = 0;
  const agent = giver(target, () => {
    acts += 1;
  });
  const { outcome } = await (await openSession(target, "one")).resume(agent).result;
  assert.deepEqual([outcome.type, acts], ["completed", 0]);
});
