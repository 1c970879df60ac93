import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const reset: ScriptEntry = [{ fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) }];
const empties: [string, ScriptEntry][] = [
  ["reasoning alone", [...think("hm"), finish()]],
  ["blank text", [...say("\n \n"), finish()]],
  ["nothing", [finish()]],
];
const nudge = /Your last answers were empty/;

async function asked(script: ScriptEntry[]) {
  const world = new TurnWorld();
  const session = await world.session();
  const agent = agentOf(script);
  const { outcome } = await world.effects.run(session.run(agent, "go").result);
  assertLawful(await session.entries());
  return { world, session, outcome, prompts: agent.model.requests.map(({ prompt }) => JSON.stringify(prompt)) };
}

describe("answers that deliver nothing", () => {
  for (const [what, empty] of empties) {
    test(`R27: ${what}, once: asked again as it was`, async () => {
      const { outcome, prompts } = await asked([empty, answer]);
      assert.equal(outcome.type, "completed");
      assert.equal(prompts[1], prompts[0]);
    });

    test(`R27: ${what}, three times: asked again, then with a nudge, then the turn is empty; nothing blank is kept`, async () => {
      const { outcome, prompts, session } = await asked([empty, empty, empty, answer]);
      assert.equal(outcome.type, "empty");
      assert.equal(prompts.length, 3);
      assert.equal(prompts[1], prompts[0]);
      assert.match(prompts[2] ?? "", nudge);
      assert.deepEqual(eventsOf(await session.entries(), "message.committed"), []);
    });
  }

  test("R27: the nudge stands once, also where its own request breaks, and stays in the conversation", async () => {
    const [, [, empty] = ["", answer]] = empties;
    const { outcome, prompts, world, session } = await asked([empty, empty, reset, answer]);
    assert.equal(outcome.type, "completed");
    assert.equal(prompts[3], prompts[2]);
    assert.equal(prompts[3]?.split(/Your last answers/).length, 2);
    const later = agentOf([answer]);
    await world.effects.run(session.run(later, "and now?").result);
    const prompt = JSON.stringify(later.model.requests[0]?.prompt);
    assert.ok(prompt.startsWith((prompts[3] ?? "").slice(0, -1)));
    assertLawful(await session.entries());
  });
});
