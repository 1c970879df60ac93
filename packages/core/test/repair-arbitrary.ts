/** Histories of AI SDK messages: valid ones, broken ones, and things that are none. */
import type { ModelMessage } from "@ai-sdk/provider-utils";
import fc, { type Arbitrary } from "fast-check";

const words = fc.constantFrom("words", "more words", "\u{1f600}");
const signed = { anthropic: { signature: "sig" } };

interface Step {
  said: "text" | "thinking" | "none";
  calls: number;
  /** How the results are split over tool messages, and whether a person was asked. */
  split: boolean;
  approved: boolean;
  executed: boolean;
}

const step: Arbitrary<Step> = fc.record({
  said: fc.constantFrom("text" as const, "thinking" as const, "none" as const),
  calls: fc.nat(3),
  split: fc.boolean(),
  approved: fc.boolean(),
  executed: fc.boolean(),
});

/** What an SDK that never failed would have kept: turns of a user's message and steps, in every form it writes. */
export const validHistory: Arbitrary<ModelMessage[]> = fc
  .array(fc.record({ user: words, picture: fc.boolean(), steps: fc.array(step, { maxLength: 3 }) }), { maxLength: 4 })
  .map((turns) => {
    let ids = 0;
    const id = () => `call_${ids++}`;
    return turns.flatMap(({ user, picture, steps }): ModelMessage[] => [
      { role: "user", content: picture ? [{ type: "text", text: user }, image] : user },
      ...steps.flatMap((each) => stepMessages(each, id)),
      { role: "assistant", content: "done" },
    ]);
  });

const image = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;

function stepMessages({ said, calls, split, approved, executed }: Step, id: () => string): ModelMessage[] {
  const ids = Array.from({ length: calls }, id);
  const search = executed ? id() : undefined;
  const assistant: Extract<ModelMessage, { role: "assistant" }>["content"] = [
    ...(said === "thinking" ? [{ type: "reasoning" as const, text: "hm", providerOptions: signed }] : []),
    ...(search === undefined
      ? []
      : [
          { type: "tool-call" as const, toolCallId: search, toolName: "search", input: {}, providerExecuted: true },
          {
            type: "tool-result" as const,
            toolCallId: search,
            toolName: "search",
            output: { type: "json" as const, value: [] },
          },
        ]),
    ...(said === "none" && calls > 0 ? [] : [{ type: "text" as const, text: "I look." }]),
    ...ids.map((toolCallId) => ({ type: "tool-call" as const, toolCallId, toolName: "look", input: { at: "door" } })),
    ...(approved
      ? ids
          .slice(0, 1)
          .map((toolCallId) => ({ type: "tool-approval-request" as const, approvalId: `ap_${toolCallId}`, toolCallId }))
      : []),
  ];
  const results = ids.map((toolCallId) => ({
    type: "tool-result" as const,
    toolCallId,
    toolName: "look",
    output: { type: "text" as const, value: "open" },
  }));
  const answers: ModelMessage[] =
    approved && ids[0] !== undefined
      ? [{ role: "tool", content: [{ type: "tool-approval-response", approvalId: `ap_${ids[0]}`, approved: true }] }]
      : [];
  const told: ModelMessage[] = split
    ? results.map((result) => ({ role: "tool", content: [result] }))
    : results.length > 0
      ? [{ role: "tool", content: results }]
      : [];
  return [{ role: "assistant", content: assistant }, ...answers, ...told];
}

const anyId = fc.constantFrom("a", "b", "c", "", "a b", "x".repeat(80), "a_2");
const anyText = fc.constantFrom("", " ", "words", "half \ud83d", "{", "\n\n");
const options = fc.constantFrom(undefined, signed, { openai: { itemId: "rs_1" } });
const tool = fc.constantFrom("look", "no/such tool", "");
const json = fc.jsonValue({ maxDepth: 2 });

const anyOutput = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "error-text", "json", "content", "odd"), value: fc.oneof(anyText, json) }),
  fc.record({
    type: fc.constant("content"),
    value: fc.array(fc.record({ type: fc.constantFrom("text", "media"), text: anyText, data: anyText })),
  }),
  json,
);

export const anyMessagePart: Arbitrary<unknown> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("text", "reasoning", "custom"),
      text: anyText,
      providerOptions: options,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("tool-call"),
      toolCallId: anyId,
      toolName: tool,
      input: fc.oneof(fc.constant({ a: 1 }), anyText, json),
      providerExecuted: fc.constantFrom(undefined, undefined, true),
      providerOptions: options,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("tool-result"),
      toolCallId: anyId,
      toolName: tool,
      output: fc.oneof(fc.constant({ type: "text", value: "open" }), anyOutput),
    }),
  },
  fc.record({ type: fc.constant("tool-approval-request"), approvalId: fc.constantFrom("p", "q"), toolCallId: anyId }),
  fc.record({
    type: fc.constant("tool-approval-response"),
    approvalId: fc.constantFrom("p", "q"),
    approved: fc.boolean(),
  }),
  fc.constant(image),
  fc.constant({ type: "image", image: "iVBORw0KGgo=" }),
  json,
);

/** Anything that may stand in a history: messages of known and unknown roles, with parts that fit or do not. */
export const anyHistory: Arbitrary<ModelMessage[]> = fc
  .array(
    fc.oneof(
      {
        weight: 12,
        arbitrary: fc.record({
          role: fc.constantFrom("assistant", "assistant", "tool", "tool", "user", "system", "data"),
          content: fc.oneof({ weight: 5, arbitrary: fc.array(anyMessagePart, { maxLength: 5 }) }, anyText, json),
          providerOptions: options,
        }),
      },
      json,
    ),
    { maxLength: 9 },
  )
  // JSON has no objects without a prototype; fast-check has.
  .map((history) => structuredClone(history) as ModelMessage[]);
