import assert from "node:assert/strict";
import { createSession, emptyTranscript, readItem, transcriptOf } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel, think } from "@pawl/core/testing";

// One reducer makes what a person reads, live and from the log alike.
const model = scriptedModel([
  [...think("Let me see"), { fail: new TypeError("terminated") }], // sealed: kept as a fragment, never sent again
  [...say("Four"), { fail: new TypeError("terminated") }], // discarded: withdrawn from the transcript
  [...say("Forty-two."), finish()],
]);
const session = await createSession(memoryRuntime());
const agent = { model, recovery: { backoff: { firstMs: 1, factor: 1, capMs: 1 } } };

const live = emptyTranscript();
for await (const item of session.run(agent, "The answer?")) readItem(live, item);

const states = live.items.flatMap((item) => (item.type === "message" ? [item.state] : []));
console.log(states.join(", "));
assert.deepEqual(states, ["sealed", "discarded", "committed"]);
const recorded = transcriptOf(await session.entries());
assert.deepEqual(live.items, recorded.items);
