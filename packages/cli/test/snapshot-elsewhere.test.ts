/** What another machine has kept of its files cannot be had here: an undo says so, and where. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createSession, defineTool } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { Shadow } from "../src/snapshot/shadow.ts";
import { folderSnapshotter } from "../src/snapshot/snapshotter.ts";
import { type UndoPoint, undoPoint } from "../src/snapshot/undo-point.ts";
import { filesOf } from "../src/undo.ts";
import { SnapshotWorld } from "./snapshot-world.ts";

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "pawl-elsewhere-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Where an undo of a turn goes back to that the machine `far-away` drove, with its snapshots in `store`. */
async function pointOf(world: SnapshotWorld, store: string): Promise<UndoPoint> {
  const runtime = memoryRuntime();
  Object.assign(runtime, { holder: { ...runtime.holder, host: "far-away", boot: "boot of far-away" } });
  const session = await createSession(runtime, "main");
  const act = defineTool({
    inputSchema: { type: "object" },
    site: () => ({ id: "disk", where: world.work }),
    execute: () => world.write("a", "two\n"),
  });
  const model = scriptedModel([
    [...call("act", {}), finish("tool-calls")],
    [...say("done"), finish()],
  ]);
  const snapshot = folderSnapshotter(world.work, join(store, "snapshots"));
  await session.run({ model, tools: { act }, snapshot }, "go").result;
  const point = undoPoint("main", await session.entries());
  assert.deepEqual([point.host, typeof point.snapshot], ["far-away", "string"]);
  return point;
}

test("a snapshot of another machine is not taken for one that was deleted: it is said where it is", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("a", "one\n");
  const [there, here] = [folder(t), folder(t)];
  const point = await pointOf(world, there);
  const wanted = { code: "NOT_SUPPORTED", message: /of this step are on far-away,.*pawl rewind/ };
  await assert.rejects(filesOf({ store: here }, point, world.work), wanted);
  // The same path is here, too, and has a past of its own.
  mkdirSync(join(here, "snapshots"), { recursive: true });
  const own = await Shadow.of(join(here, "snapshots"), world.work);
  await own.commit(await own.keep(), "other/step");
  await assert.rejects(filesOf({ store: here }, point, world.work), wanted);
});

test("a machine that is only called differently by now has what it kept", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("a", "one\n");
  const store = folder(t);
  const { shadow, commit } = await filesOf({ store }, await pointOf(world, store), world.work);
  assert.ok(commit !== undefined && (await shadow.has(commit)));
});
