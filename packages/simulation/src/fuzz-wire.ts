/**
 * Event streams as a server, a gateway or a bad line may send them, through the provider packages into a session.
 *
 * The first three bytes say which protocol it is and where the stream is cut into chunks. However it is cut, the log says the
 * same: what an answer is must not depend on how its bytes came.
 */
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createSession, defineTool, type LogEntry, watchedFetch } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { type Entry, PROTOCOLS, startModelServer } from "@pawl/model-server";
import { assertLawful, bytesOf, type Target, textOf } from "./fuzz-target.ts";

const script: Entry[] = [
  [
    { reason: "Let me think.", chunks: 2 },
    { text: "I look – now.", chunks: 3 },
    { call: "look", input: { path: "a" }, split: [4] },
    { call: "look", input: { path: "b" } },
    { usage: { input: 10, output: 5 } },
  ],
  [{ text: "Half", chunks: 2, upTo: 1 }, { error: { type: "overloaded_error", message: "Overloaded" } }],
  [
    { comment: "x" },
    { ping: true },
    { call: "look", input: { path: "c" }, asObject: true, id: "", index: 0 },
    { garbage: true },
  ],
];

export async function wireTarget(): Promise<Target> {
  const words = [
    ...[
      "data: ",
      "event: ",
      "\n\n",
      "\r\n\r\n",
      "\r",
      ": ping\n\n",
      "data: [DONE]\n\n",
      "data:",
      '"tool_calls":[',
      '"delta":{',
    ],
    ...['"index":0', '"finish_reason":"stop"', '"arguments":"', '"message_stop"', '"response.completed"', '"error":{'],
  ];
  return { seeds: await recorded(), words, run: stream };
}

/** What the model server really sends, in all protocols. */
async function recorded(): Promise<Uint8Array[]> {
  const seeds: Uint8Array[] = [];
  for (const [at, protocol] of PROTOCOLS.entries()) {
    let body = new Uint8Array();
    const keep: typeof fetch = async (input, init) => {
      body = new Uint8Array(await (await fetch(input, init)).arrayBuffer());
      return new Response(body, { headers: eventStream });
    };
    const server = await startModelServer({ script });
    for (const _ of script) {
      await answered(at, keep, server.baseUrl(protocol));
      seeds.push(new Uint8Array(Buffer.concat([new Uint8Array([at, 7, 0]), body])));
    }
    await server.close();
  }
  return seeds;
}

const eventStream = { "content-type": "text/event-stream" };

async function stream(input: Uint8Array): Promise<void> {
  const [protocol = 0, every = 0, first = 0] = input;
  const body = input.subarray(3);
  const whole = await answered(protocol % 3, serving([body]));
  const cut = await answered(protocol % 3, serving(pieces(body, first, 1 + every)));
  const text = textOf(body);
  const same = "however the bytes are cut, the log says the same";
  assert.deepEqual(withoutInvented(cut, text), withoutInvented(whole, text), same);
}

/** Where a call has no id the package invents one, each time another. */
function withoutInvented(told: readonly unknown[], text: string): unknown {
  return JSON.parse(JSON.stringify(told), (name, value: unknown) =>
    name === "providerId" && !text.includes(String(value)) ? "invented" : value,
  );
}

function pieces(body: Uint8Array, first: number, every: number): Uint8Array[] {
  const cut = [body.subarray(0, first)];
  for (let at = first; at < body.length; at += every) cut.push(body.subarray(at, at + every));
  return cut;
}

function serving(chunks: readonly Uint8Array[]): typeof fetch {
  return async () => {
    const rest = chunks.filter((chunk) => chunk.length > 0).values();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = rest.next();
        if (done) controller.close();
        else controller.enqueue(value.slice());
      },
    });
    return new Response(body, { headers: eventStream });
  };
}

const look = defineTool({ inputSchema: { type: "object" }, execute: () => "seen", effect: "read" });

/** One turn of one step; what its log says, without what differs from run to run. */
async function answered(
  protocol: number,
  transport: typeof fetch,
  baseURL = "http://127.0.0.1:1/v1",
): Promise<unknown[]> {
  const runtime = memoryRuntime();
  const session = await createSession(runtime);
  const agent = {
    model: modelOf(protocol, transport, baseURL),
    tools: { look },
    stepsPerTurn: 1,
    recovery: { attemptsPerStep: 1 },
  };
  await session.run(agent, "Do it").result;
  const entries = await session.entries();
  assertLawful(entries, "by an answer");
  return entries.flatMap(toldBy);
}

function modelOf(protocol: number, transport: typeof fetch, baseURL: string) {
  const settings = { baseURL, apiKey: "test", fetch: watchedFetch(transport) };
  if (protocol === PROTOCOLS.indexOf("chat"))
    return createOpenAICompatible({ name: "x", includeUsage: true, ...settings })("m");
  if (protocol === PROTOCOLS.indexOf("responses")) return createOpenAI(settings).responses("gpt-5");
  return createAnthropic(settings)("claude-opus-4-5");
}

function toldBy({ event }: LogEntry): unknown[] {
  switch (event.type) {
    case "message.committed":
      return [
        event.parts.map(({ id: _, ...part }) => ({ ...part, ...("call" in part ? { call: "" } : {}) })),
        event.finish,
      ];
    case "attempt.ended":
      return [event.end, event.failure?.kind, event.usage];
    case "turn.ended":
      return [event.outcome];
    default:
      return [];
  }
}

export const inputOf = (protocol: number, every: number, body: string): Uint8Array =>
  new Uint8Array(Buffer.concat([new Uint8Array([protocol, every, 0]), bytesOf(body)]));
