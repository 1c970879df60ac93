/** Turns that did not complete, as jobs. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createSession } from "@pawl/core";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { type FailedTurn, sendFailedTurns } from "../src/index.ts";
import { startGround } from "./ground.ts";

const { boss, runtime, end } = await startGround();
after(end);

test("a turn that ended failed is sent once, with its failure; one that completed is not", async () => {
  await boss.createQueue("pawl-failed-turns");
  const good = await createSession(runtime);
  await good.run({ model: scriptedModel([[...say("done"), finish()]]) }, "go").result;
  const bad = await createSession(runtime, undefined, { title: "the bad one" });
  const refused = Object.assign(new Error("invalid x-api-key"), { statusCode: 401 });
  const { outcome } = await bad.run({ model: scriptedModel([[{ fail: refused }]]) }, "go").result;
  assert.notEqual(outcome.type, "completed");

  assert.equal(await sendFailedTurns({ boss, runtime }), 1);
  assert.equal(await sendFailedTurns({ boss, runtime }), 0, "looking again sends nothing twice");
  const [job, ...others] = await boss.findJobs<FailedTurn>("pawl-failed-turns");
  assert.deepEqual(others, []);
  const last = (await bad.entries()).find(({ event }) => event.type === "turn.ended");
  assert.ok(last?.event.type === "turn.ended" && job);
  const { turn, failure } = last.event;
  assert.deepEqual(job.data, {
    session: bad.id,
    seq: last.seq,
    turn,
    outcome: outcome.type,
    failure: { kind: failure?.kind, message: failure?.message },
    title: "the bad one",
  });

  await bad.run({ model: scriptedModel([[{ fail: refused }]]) }, "again").result;
  assert.equal(await sendFailedTurns({ boss, runtime }), 1, "the next failure is another");
  assert.equal(await sendFailedTurns({ boss, runtime, withinMs: -1 }), 0, "what lies further back is not looked at");
});
