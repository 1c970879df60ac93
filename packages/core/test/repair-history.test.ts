/**
 * Broken histories that people have met, one file a kind. Each is refused by the endpoints that its file names, and by
 * none once it is repaired.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ModelMessage } from "@ai-sdk/provider-utils";
import fc from "fast-check";
import { type RepairOptions, repairMessages } from "../src/index.ts";
import { anyHistory } from "./repair-arbitrary.ts";
import { refusalsOfMessages } from "./repair-judge.ts";

interface Broken extends Pick<RepairOptions, "providerState"> {
  title: string;
  /** By protocol, the first rule that the endpoint names; `local` where the SDK refuses. Empty: odd, but taken by all. */
  refused: Record<string, string>;
  /** The kinds of what is done. */
  repairs: string[];
  messages: ModelMessage[];
}

const folder = fileURLToPath(new URL("./fixtures/history/", import.meta.url));

function broken(name: string): Broken {
  return JSON.parse(readFileSync(`${folder}${name}`, "utf8")) as Broken;
}

for (const name of readdirSync(folder)) {
  const { title, refused, repairs, messages, providerState = "keep" } = broken(name);
  test(title, async () => {
    const before = structuredClone(messages);
    const repaired = repairMessages(messages, { providerState });
    assert.deepEqual(messages, before);
    assert.deepEqual(await refusalsOfMessages(messages), refused);
    assert.deepEqual([...new Set(repaired.repairs.map(({ kind }) => kind))], repairs);
    assert.deepEqual(await refusalsOfMessages(repaired.messages), {});
  });
}

test("whatever the history, no endpoint refuses it once it is repaired", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, async (history) => {
      const { messages } = repairMessages(history, { providerState: "drop" });
      // An SDK takes no request without messages, and acts on the answer of a person before it asks the model.
      const last = messages.at(-1);
      const begun = messages.findIndex(({ role }) => role !== "system");
      if (begun < 0 || last?.role === "tool") return;
      // Where instructions stand is the caller's decision, and the endpoints differ about it.
      if (messages.slice(begun).some(({ role }) => role === "system")) return;
      assert.deepEqual(await refusalsOfMessages(messages), {});
    }),
    { numRuns: 300 },
  );
});

test("R45: thinking that a tool loop must begin with outlives the blank text beside it", () => {
  const { messages, repairs } = repairMessages(broken("R49-blank-texts.json").messages);
  assert.equal(
    repairs
      .filter(({ at }) => at === 3)
      .map(({ kind }) => kind)
      .join(),
    "blank",
  );
  assert.match(JSON.stringify(messages), /"easy"/);
});

test("R45: an edited message has lost its thinking, one beside it has not", () => {
  const history = broken("R45-edited-message.json").messages;
  const other = JSON.stringify(broken("R49-blank-texts.json").messages.slice(3, 5)).replaceAll("call_1", "call_9");
  const { messages } = repairMessages([...history, ...(JSON.parse(other) as ModelMessage[])]);
  assert.doesNotMatch(JSON.stringify(messages), /I will write it all/);
  assert.match(JSON.stringify(messages), /"easy"/);
});

test("R33: results are told to the calls they belong to, by occurrence", () => {
  const { messages } = repairMessages(broken("R33-twice-in-one-message.json").messages);
  const [, , answers] = messages;
  assert.ok(answers?.role === "tool");
  assert.deepEqual(
    answers.content.map((part) => part.type === "tool-result" && [part.toolCallId, part.output]),
    [
      ["call_0", { type: "text", value: "a b" }],
      ["call_0_2", { type: "text", value: "/home" }],
    ],
  );
});

test("R40: the words are those of the log's own projection, and the same every time", () => {
  const { messages } = repairMessages(broken("R40-unanswered.json").messages);
  assert.match(JSON.stringify(messages[2]), /"error-text","value":"TOOL_OUTCOME_UNKNOWN: .* Do not simply repeat it\./);
});

test("an approval: what was never allowed was never started, what was denied says why, what was just answered is left", () => {
  const open = repairMessages(broken("approval-left-open.json").messages).messages;
  assert.match(JSON.stringify(open), /TOOL_NOT_STARTED/);
  assert.doesNotMatch(JSON.stringify(open), /tool-approval-request/);
  const history = broken("approval-denied.json").messages;
  const denied = repairMessages(history).messages;
  assert.match(JSON.stringify(denied), /"execution-denied","reason":"not that folder"/);
  const answered = history.slice(0, -1);
  assert.deepEqual(repairMessages(answered), { messages: answered, repairs: [] });
  // Where the assistant has spoken on, nothing acts on the answer any more.
  const [first, second, third] = answered;
  assert.ok(first && second && third);
  const past = repairMessages([first, second, { role: "assistant", content: "Wait." }, third]).messages;
  assert.match(JSON.stringify(past[2]), /"execution-denied","reason":"not that folder"/);
  assert.equal(past.at(-1)?.role, "assistant");
});
