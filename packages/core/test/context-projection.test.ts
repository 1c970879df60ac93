import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import fc, { type Arbitrary } from "fast-check";
import { unpaired } from "../src/context/laws.ts";
import { contextFold, promptOf } from "../src/context/projection.ts";
import { targetOf } from "../src/context/target.ts";
import { WireIds } from "../src/context/wire-id.ts";
import type { CallPart, LogEvent, MessagePart } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { arbitraryEvent } from "./arbitrary.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  header,
  input,
  logOf,
  settled,
  stepStarted,
  text,
  turnEnded,
  turnOf,
  turnStarted,
} from "./log-builder.ts";
import { promptFor, testTarget } from "./turn-world.ts";

const callId = fc.constantFrom("c1", "c2", "c3", "c4", "c5");
const providerId = fc.constantFrom("", " ", "call_0", "call_0_2", "x".repeat(80), "toolu/1", "c1");
const anyCall: Arbitrary<CallPart> = fc
  .record({
    id: callId,
    providerId,
    tool: fc.constantFrom("act", "", "no/such tool", "x".repeat(99)),
    input: fc.constantFrom("{}", "", '{"a":', "[]", "null", '"\ud800"'),
    providerExecuted: fc.boolean(),
  })
  .map(({ id, providerExecuted, ...rest }) =>
    callPart(id, rest.providerId, { ...rest, ...(providerExecuted ? { providerExecuted } : {}) }),
  );
const part: Arbitrary<MessagePart> = fc.oneof(
  anyCall,
  fc.constantFrom("", " ", "words", "\ud83d").map((words) => text("p", words)),
  fc.record({
    type: fc.constant("tool-result" as const),
    id: callId,
    call: callId,
    tool: fc.constant("act"),
    result: fc.constant(1),
  }),
);
const message = fc.array(part, { maxLength: 5 }).map((parts) => committed("a1", ...parts));

/** Facts about a few calls in any order: results before, without and after their call, twice, in another turn. */
const messy: Arbitrary<LogEvent[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: message },
    { weight: 4, arbitrary: callId.map((id) => settled(id, `result of ${id}`)) },
    { weight: 1, arbitrary: callId.map((id) => entered(id)) },
    fc.constantFrom(input("in1"), input("in2", " "), turnStarted("t1"), turnEnded("t1"), stepStarted("st1", "t1", 1)),
    fc.constantFrom(
      attemptStarted("a1", "st1"),
      attemptEnded("a1", { end: "failed", fragment: [text("a1-1"), callPart("c1")] }),
    ),
    arbitraryEvent,
  ),
  { maxLength: 40 },
);

/** The parts of all messages, with the fields that these tests look at. */
interface AnyPart {
  type: string;
  text?: string;
  toolName?: string;
  toolCallId?: string;
  providerExecuted?: boolean;
}

function contentOf(prompt: LanguageModelV4Prompt): AnyPart[] {
  return prompt.flatMap((message): AnyPart[] => (message.role === "system" ? [] : (message.content as AnyPart[])));
}

describe("context", () => {
  test("L1: whatever the log, each call of the request has one result, directly after it, in call order", () => {
    fc.assert(
      fc.property(messy, (events) => assert.deepEqual(unpaired(promptFor(logOf(events))), [])),
      { numRuns: 500 },
    );
  });

  test("R51: whatever the log, the request is well-formed, and no name or id on it is odd", () => {
    fc.assert(
      fc.property(messy, (events) => {
        const prompt = promptFor(
          logOf(events.filter((event) => event.type !== "message.committed" || event.attempt === "a1")),
        );
        for (const one of contentOf(prompt)) {
          const { toolName, toolCallId } = one;
          if (one.type === "tool-call" && !one.providerExecuted) assert.match(toolName ?? "", /^[A-Za-z0-9_-]{1,64}$/);
          if (toolCallId !== undefined) assert.match(toolCallId, /^[A-Za-z0-9_-]{1,64}$/);
          assert.ok((one.text ?? "").isWellFormed());
        }
      }),
    );
  });

  test("L10: stepping on gives the same as starting from empty, at every prefix", () => {
    fc.assert(
      fc.property(messy, (events) => {
        const entries = logOf(events);
        const fold = contextFold(testTarget);
        let state = fold.init();
        for (const [index, entry] of entries.entries()) {
          state = fold.step(state, entry);
          const whole = runFold(contextFold(testTarget), entries.slice(0, index + 1));
          assert.deepEqual(promptOf(state, "be brief"), promptOf(whole, "be brief"));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("R40: killed after the message and before any result: the request is whole, with the same words every time", () => {
    const open = [
      ...turnOf(1),
      input("in2"),
      turnStarted("t2", "in2"),
      stepStarted("st2", "t2", 1),
      attemptStarted("a2", "st2"),
      attemptEnded("a2"),
      committed("a2", callPart("a2-1"), callPart("a2-2")),
    ];
    const later = [...open, entered("a2-1"), turnEnded("t2"), input("in3", "hi")];
    assert.deepEqual(unpaired(promptFor(logOf(open))), []);
    const prompt = promptFor(logOf(later));
    assert.deepEqual(
      prompt.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "tool", "user"],
    );
    assert.match(JSON.stringify(prompt[4]), /TOOL_OUTCOME_UNKNOWN.*TOOL_NOT_STARTED/);
    assert.deepEqual(
      promptFor(logOf([...later, settled("a2-1", "late")])),
      prompt,
      "a late result changes nothing that was sent",
    );
  });

  test("R33: wire ids are unique and stable, whatever the provider's are, and cost the same for the thousandth", () => {
    fc.assert(
      fc.property(fc.array(providerId, { maxLength: 60 }), (ids) => {
        const wire = new WireIds();
        const given = ids.map((id, index) => wire.next(id, `${"a".repeat(45)}-${index}`));
        assert.equal(new Set(given).size, given.length);
        const again = new WireIds();
        assert.deepEqual(
          ids.map((id, index) => again.next(id, `${"a".repeat(45)}-${index}`)),
          given,
        );
        for (const id of given) assert.match(id, /^[A-Za-z0-9_-]{1,40}$/);
      }),
    );
    const wire = new WireIds();
    for (let n = 0; n < 20_000; n += 1) wire.next("call_0", "a");
    assert.equal(wire.next("call_0", "a"), "call_0_20001");
  });

  test("a declared tool keeps its name on the wire, however it is spelled; a made-up one becomes one that is taken", () => {
    const log = logOf([
      input("in1"),
      committed("a1", callPart("c1", "c1", { tool: "mcp.read" }), callPart("c2", "c2", { tool: "mcp.write" })),
    ]);
    const target = targetOf({ ...header, tools: [{ name: "mcp.read", inputSchema: {} }] });
    const prompt = promptOf(runFold(contextFold(target), log), undefined);
    assert.match(JSON.stringify(prompt), /"mcp\.read".*"mcp_write".*"mcp\.read".*"mcp_write"/);
  });

  test("a provider's own call goes back to that provider with its result, and to nobody else", () => {
    const executed = callPart("a1-1", "srv_1", { providerExecuted: true });
    const result: MessagePart = { type: "tool-result", id: "a1-2", call: "a1-1", tool: "act", result: { found: 1 } };
    const log = logOf([
      input("in1"),
      committed("a1", executed, result, callPart("a1-3", "srv_2", { providerExecuted: true }), text("a1-4")),
    ]);
    assert.deepEqual(
      contentOf(promptFor(log))
        .slice(1)
        .map(({ type }) => type),
      ["tool-call", "tool-result", "text"],
    );
    const other = promptOf(runFold(contextFold({ ...testTarget, provider: "other", model: "other" }), log), undefined);
    assert.deepEqual(
      contentOf(other).map(({ type }) => type),
      ["text", "text"],
    );
  });

  test("what a title or a summary had let out when it failed is no part of the conversation", () => {
    const title: LogEvent = {
      type: "attempt.started",
      attempt: "a2",
      step: "st1",
      number: 2,
      purpose: "title",
      model: header.model,
    };
    const prompt = promptFor(
      logOf([
        input("in1"),
        title,
        attemptEnded("a2", { end: "failed", fragment: [text("a2-1", "A Title")] }),
        turnEnded("t1"),
      ]),
    );
    assert.equal(prompt.length, 1);
  });
});
