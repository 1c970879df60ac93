/** What is wrong about an agent is said before anything is posted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isPawlError } from "../src/error.ts";
import { finish, say } from "../src/testing/model.ts";
import type { Agent } from "../src/turn/agent.ts";
import { agentOf, TurnWorld } from "./turn-world.ts";

const wrong: [unknown, RegExp][] = [
  [{ images: "yes" }, /the agent's images is one of send, name, is "yes"/],
  [{ reasoning: true }, /reasoning is one of send, turn, drop, is true/],
  [{ cache: "on" }, /cache is one of auto, off, is "on"/],
  [{ unanswered: null }, /unanswered is one of deny, wait, abort, is null/],
  [{ afterAbort: "drop" }, /afterAbort is one of keep, return, is "drop"/],
  [{ watch: { firstMs: Number.NaN } }, /watch\.firstMs is 0 or more/],
  [{ watch: { silenceMs: "1000" } }, /watch\.silenceMs is 0 or more, is "1000"/],
  [{ stepsPerTurn: 0 }, /stepsPerTurn is 1 or more, is 0/],
  [{ pauseMs: "soon" }, /pauseMs is 0 or more, is "soon"/],
];

for (const [rest, words] of wrong) {
  test(`an agent with ${JSON.stringify(rest)} is refused, and its input is not left behind`, async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const agent = agentOf([[...say("done"), finish()]], rest as Partial<Agent>);
    await assert.rejects(
      world.effects.run(session.run(agent, "go").result),
      (error) => isPawlError(error, "INVALID_INPUT") && words.test(error.message),
    );
    assert.deepEqual(await world.mailbox(), []);
    assert.equal((await session.entries()).length, 1);
  });
}
