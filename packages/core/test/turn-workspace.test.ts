/** What a session needs of whoever drives it: said once, inherited, and left alone by workers that do not have it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Workspaces } from "../src/store/store.ts";
import { finish, say, call as toolCall } from "../src/testing/model.ts";
import type { Agent } from "../src/turn/agent.ts";
import { rewindSession } from "../src/turn/rewind.ts";
import { createSession, forkSession, type Session } from "../src/turn/session.ts";
import { taskTool } from "../src/turn/task.ts";
import { createWorker, type Worker } from "../src/turn/worker.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const answer = () => [...say("done"), finish()];
const answering = (): Agent => agentOf(Array(9).fill(answer()));

function worker(world: TurnWorld, workspaces?: Workspaces, concurrency = 4): Worker {
  const has = workspaces === undefined ? {} : { workspaces };
  return createWorker({ runtime: world.process(), agent: answering, concurrency, ...has });
}

async function posted(world: TurnWorld, id: string, workspace?: string): Promise<Session> {
  const session = await createSession(world.process(), id, workspace === undefined ? {} : { workspace });
  await session.post("input", "go");
  return session;
}

async function ended(session: Session): Promise<number> {
  return eventsOf(await session.entries(), "turn.ended").length;
}

/** Lets the world turn until `done`; the runner's timeout is the bound. */
async function until(world: TurnWorld, done: () => Promise<boolean>): Promise<void> {
  while (!(await done())) {
    await world.effects.settle();
    world.effects.advance(50);
  }
}

describe("a worker and the workspaces that it has", { timeout: 20_000 }, () => {
  test("drives what needs none and what needs its own, and leaves the rest waiting until who has it comes", async () => {
    const world = new TurnWorld();
    const [plain, here, there] = [
      await posted(world, "plain"),
      await posted(world, "here", "disk-a"),
      await posted(world, "there", "disk-b"),
    ];
    const first = worker(world, ["disk-a"]);
    await until(world, async () => (await ended(plain)) === 1 && (await ended(here)) === 1);
    for (let round = 0; round < 20; round += 1) {
      await world.effects.settle();
      world.effects.advance(500);
    }
    assert.equal((await there.summary())?.lease, undefined);
    assert.deepEqual((await there.entries()).length, 1);
    const second = worker(world, ["disk-b"]);
    await until(world, async () => (await ended(there)) === 1);
    for (const session of [plain, here, there]) assertLawful(await session.entries());
    await Promise.all([first.drain(), second.drain()]);
  });

  test("that says nothing of workspaces drives only what needs none; `any` drives all", async () => {
    const world = new TurnWorld();
    const [needy, plain] = [await posted(world, "needy", "disk-a"), await posted(world, "plain")];
    const silent = worker(world);
    await until(world, async () => (await ended(plain)) === 1);
    assert.equal(await ended(needy), 0);
    await silent.drain();
    const mounting = worker(world, "any");
    await until(world, async () => (await ended(needy)) === 1);
    await mounting.drain();
  });

  test("with one place is not held up by sessions that it cannot drive", async () => {
    const world = new TurnWorld();
    for (let n = 0; n < 30; n += 1) await posted(world, `away-${n}`, "elsewhere");
    const plain = await posted(world, "plain");
    const one = worker(world, [], 1);
    await until(world, async () => (await ended(plain)) === 1);
    await one.drain();
  });

  test("a name that is none is refused, by sessions and by workers", async () => {
    const world = new TurnWorld();
    const wanted = { code: "INVALID_INPUT", message: /workspace of 1 to 256 characters/ };
    for (const workspace of ["", "x".repeat(257)]) {
      await assert.rejects(createSession(world.process(), "s", { workspace }), wanted);
      assert.throws(() => worker(world, ["good", workspace]), wanted);
    }
  });
});

describe("the workspace of a session", () => {
  test("is in its log, and its head follows from the log", async () => {
    const world = new TurnWorld();
    const session = await createSession(world.process(), "s", { workspace: "disk-a", title: "T" });
    assert.deepEqual((await session.summary())?.head, { title: "T", workspace: "disk-a" });
    await session.run(answering(), "go").result;
    assert.deepEqual((await session.summary())?.head, { title: "T", workspace: "disk-a", outcome: "completed" });
    assert.equal(eventsOf(await session.entries(), "session.created")[0]?.workspace, "disk-a");
  });

  test("goes on to forks and to what came of a rewind, unless they name another", async () => {
    const world = new TurnWorld();
    const runtime = world.process();
    const session = await createSession(runtime, "s", { workspace: "disk-a" });
    await session.run(answering(), "go").result;
    const forks = [
      await forkSession(runtime, { session: "s", seq: 1 }, "f"),
      await rewindSession(runtime, { session: "s", seq: 1 }, { id: "r", facts: { title: "back" } }),
      await forkSession(runtime, { session: "f", seq: 2 }, "o", { workspace: "disk-b" }),
    ];
    const heads = await Promise.all(forks.map(async (fork) => (await fork.summary())?.head.workspace));
    assert.deepEqual(heads, ["disk-a", "disk-a", "disk-b"]);
    for (const fork of forks) await fork.run(answering(), "go").result;
    const after = await Promise.all(forks.map(async (fork) => (await fork.summary())?.head.workspace));
    assert.deepEqual(after, heads, "it is in their own logs");
  });

  test("goes on to tasks: a child whose parent died is driven only where the parent could be", async () => {
    const world = new TurnWorld();
    const runtime = world.process();
    const agents = { helper: { description: "helps", agent: answering(), workspace: "writes" as const } };
    const session = await createSession(runtime, "s", { workspace: "disk-a", cwd: "/w" });
    const calls = [...toolCall("task", { agent: "helper", prompt: "do it" }), finish("tool-calls")];
    await session.run(agentOf([calls, answer()], { tools: { task: taskTool({ runtime, agents }) } }), "go").result;
    const child = (await world.store.list()).find(({ session: id }) => id !== "s");
    assert.deepEqual([child?.head.workspace, child?.head.cwd], ["disk-a", "/w"]);
  });
});
