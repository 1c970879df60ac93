import { createSession, type RecoveryPolicy } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";

// Policy is data. This one never asks again once text was shown, gives up on an overloaded provider at once, and stops a
// turn that has cost more than 2 (in units of `price`).
const recovery: Partial<RecoveryPolicy> = {
  preset: "preserve",
  retry: { overloaded: "stop" },
  attemptsPerStep: 3,
  costPerTurn: 2,
  backoff: { firstMs: 1, factor: 2, capMs: 100 },
};
const dropped = { fail: new TypeError("terminated") };
const model = scriptedModel([[dropped], [...say("Half of an answ"), dropped], [...say("never asked for"), finish()]]);
const session = await createSession(memoryRuntime());
const price = ({ input = 0, output = 0 }) => (input + 5 * output) / 1_000_000;
const { outcome, failure } = await session.run({ model, recovery, price }, "Tell me").result;
console.log(outcome.type, "-", failure?.kind, "-", `${model.requests.length} requests`);
if (outcome.type !== "truncated" || model.requests.length !== 2) process.exitCode = 1;
