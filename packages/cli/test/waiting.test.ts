/** A session that waits for a worker with its workspace says so wherever one looks: in the list, in its story, to who follows. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createSession, createWorker, type Session } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { World } from "./pawl-world.ts";

const title = "mend the roof";

async function waiting(
  t: TestContext,
): Promise<{ world: World; session: Session; work(has: string[]): Promise<void> }> {
  const world = new World(t);
  const runtime = await openRuntime({ dir: world.store });
  t.after(() => runtime.store.close());
  const session = await createSession(runtime, "s", { workspace: "disk \u001b[31ma", title });
  await session.post("input", "go");
  const work = async (workspaces: string[]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = runtime.store.watch("s", () => {
      void session.summary().then((summary) => summary?.head.outcome === "completed" && resolve());
    });
    const agent = () => ({ model: scriptedModel([[...say("done"), finish()]]) });
    const worker = createWorker({ runtime, workspaces, agent });
    await promise;
    end();
    await worker.drain();
  };
  return { world, session, work };
}

test("sessions, show and follow say what it waits for and since when, and no longer once it is driven", async (t) => {
  const { world, work } = await waiting(t);
  const at = ["--store", world.store];
  const list = async () => (await world.pawl(["sessions", ...at])).stdout;
  const json = async () => JSON.parse((await world.pawl(["sessions", "--json", ...at])).stdout);
  assert.match(await list(), /^s +\S+ \S+ +waiting +\(for workspace disk \P{Cc}*a\) mend the roof\n$/u);
  const { status, waits, waitingSince } = await json();
  assert.deepEqual([status, waits], ["waiting", { workspace: "disk \u001b[31ma", since: waitingSince }]);
  const shown = (await world.pawl(["show", "s", ...at])).stdout;
  assert.match(shown, /1 input not begun/);
  assert.match(shown, /it waits for a worker that has the workspace disk \P{Cc}*a,\s+since \d{4}-\d\d-\d\d/u);
  const follow = world.start(["follow", "s", ...at]);
  await follow.said(/it waits for a worker that has the workspace disk/);
  await work(["disk \u001b[31ma"]);
  const { code, stdout, stderr } = await follow.ended;
  assert.deepEqual([code, stdout.includes("done")], [0, true], stderr);
  assert.match(await list(), /completed +mend the roof\n$/);
  assert.equal((await json()).waits, undefined);
  assert.doesNotMatch((await world.pawl(["show", "s", ...at])).stdout, /waits for a worker/);
});
