/** An undo that is cut short anywhere is finished by the next one: files, conversation and name, each once. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createSession, defineTool, openSession, type Runtime, type Store } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { type Move, moveTo, openMove, perform } from "../src/snapshot/move.ts";
import { temporaryOf } from "../src/snapshot/restore.ts";
import type { Shadow } from "../src/snapshot/shadow.ts";
import { parseSnapshotId } from "../src/snapshot/snapshot-id.ts";
import { folderSnapshotter } from "../src/snapshot/snapshotter.ts";
import { undoPoint } from "../src/snapshot/undo-point.ts";
import { SnapshotWorld } from "./snapshot-world.ts";

interface Staged {
  world: SnapshotWorld;
  runtime: Runtime;
  shadow: Shadow;
  move: Move;
  first: { [path: string]: string };
}

/** A session `main`, called `work`, whose one turn has changed the folder, and the undo of it. */
async function staged(t: TestContext): Promise<Staged> {
  const world = new SnapshotWorld(t);
  world.write("a", "one\n");
  const first = world.files();
  const runtime = memoryRuntime();
  const session = await createSession(runtime, "main");
  await runtime.store.setName("work", "main", null);
  const act = defineTool({
    inputSchema: { type: "object" },
    execute: () => {
      world.write("a", "two\n");
      world.write("b/c", "new\n");
      return "ok";
    },
  });
  const model = scriptedModel([
    [...call("act", {}), finish("tool-calls")],
    [...say("done"), finish()],
  ]);
  await session.run({ model, tools: { act }, snapshot: folderSnapshotter(world.work, world.base) }, "go").result;
  const shadow = await world.shadow();
  const point = undoPoint("main", await session.entries());
  const commit = parseSnapshotId(point.snapshot ?? "")?.commit;
  assert.ok(commit);
  const back = { session: "main", commit: await shadow.commit(await shadow.keep(), "main/undo-child") };
  const cut = { session: "main", seq: point.seq };
  const move: Move = {
    kind: "undo",
    state: "begun",
    from: "main",
    head: (await session.summary())?.seq ?? 0,
    to: "child",
    cut,
    name: "work",
    facts: {},
    commit,
    back,
  };
  return { world, runtime, shadow, move, first };
}

/** The runtime whose store fails for good from its `nth` call on. Says whether it came to that. */
function dying(runtime: Runtime, nth: number): Runtime & { died(): boolean } {
  let calls = 0;
  let died = false;
  const store = new Proxy(runtime.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        calls += 1;
        if (calls >= nth && name !== "releaseLease") {
          died = true;
          throw new Error("the machine stops here");
        }
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  }) as Store;
  return { ...runtime, store, died: () => died };
}

async function assertUndone({ world, runtime, shadow, first }: Staged, where: string): Promise<void> {
  assert.deepEqual(world.files(), first, where);
  assert.equal(await runtime.store.resolveName("work"), "child", where);
  const child = await openSession(runtime, "child");
  assert.equal(
    (await child.entries()).some(({ event }) => event.type === "turn.started"),
    false,
    where,
  );
  assert.equal((await moveTo(join(shadow.dir, ".."), "child"))?.move.state, "done", where);
}

test("stopped at every call of the store: what is open is found from both sessions, and doing it again completes it", async (t) => {
  for (let nth = 1; ; nth += 1) {
    const stage = await staged(t);
    const runtime = dying(stage.runtime, nth);
    const error = await perform(runtime, stage.shadow, stage.move).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!runtime.died()) {
      assert.ok(nth > 6, `a move asks the store more than ${nth} times`);
      assert.equal(error, undefined);
      await assertUndone(stage, "never stopped");
      return;
    }
    const base = join(stage.shadow.dir, "..");
    assert.ok(await openMove(stage.runtime, base, "main"), `call ${nth}`);
    if (await stage.runtime.store.get("child")) assert.ok(await openMove(stage.runtime, base, "child"), `call ${nth}`);
    assert.deepEqual((await perform(stage.runtime, stage.shadow, stage.move)).problems, []);
    await assertUndone(stage, `call ${nth}`);
  }
});

test("stopped among the files: half of them is completed, and what was half written goes", async (t) => {
  const stage = await staged(t);
  const { world } = stage;
  world.write("b/c", "other\n");
  writeFileSync(join(world.work, temporaryOf("a")), "hal");
  assert.deepEqual((await perform(stage.runtime, stage.shadow, stage.move)).problems, []);
  await assertUndone(stage, "half of the files");
});

test("a file that cannot be brought back: the conversation stays, the move stays open, and is finished later", async (t) => {
  const stage = await staged(t);
  const { world, runtime, shadow, move } = stage;
  world.write(".gitignore", "*.log\n");
  await shadow.keep();
  rmSync(join(world.work, "a"));
  world.write("a/x.log", "in the way\n");
  const { problems } = await perform(runtime, shadow, move);
  assert.deepEqual(
    problems.map(({ path }) => path),
    ["a"],
  );
  assert.equal(await runtime.store.get("child"), undefined);
  rmSync(join(world.work, "a"), { recursive: true });
  assert.deepEqual((await perform(runtime, shadow, move)).problems, []);
  await assertUndone(stage, "finished");
});

test("somebody drives the session: nothing is touched", async (t) => {
  const { world, runtime, shadow, move } = await staged(t);
  const files = world.files();
  await runtime.store.acquireLease("main", { ...runtime.holder, id: "other" }, 60_000);
  await assert.rejects(perform(runtime, shadow, move), /session main is being driven by process/);
  assert.deepEqual(world.files(), files);
  assert.deepEqual(readdirSync(join(shadow.dir, "moves")), ["child.json"]);
});

test("one that was begun and whose session has gone on since is nobody's wish any more", async (t) => {
  const { world, runtime, shadow, move } = await staged(t);
  const other = { ...runtime.holder, id: "other" };
  const lease = await runtime.store.acquireLease("main", other, 60_000);
  await assert.rejects(perform(runtime, shadow, move));
  if (lease.granted) await runtime.store.releaseLease("main", lease.epoch);
  assert.ok(await openMove(runtime, world.base, "main"));
  const session = await openSession(runtime, "main");
  await session.run({ model: scriptedModel([[...say("more"), finish()]]) }, "go on").result;
  assert.equal(await openMove(runtime, world.base, "main"), undefined);
});
