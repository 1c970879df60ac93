/**
 * A model of the world: it answers at its own pace, breaks anywhere, and lies as endpoints do. Each request is judged
 * before it is answered.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Plot } from "./plot.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { Referee } from "./referee.ts";
import type { Settings } from "./settings.ts";
import { AnswerStream } from "./stream.ts";
import type { World } from "./world.ts";

type Part = LanguageModelV4StreamPart;
type Piece = Part | { fail: Error } | { silence: true };
export type Answer = Piece[] | { reject: Error };

export interface ModelSeat {
  world: World;
  process: Process;
  settings: Settings;
  referee: Referee;
  session: string;
  /** An open turn is closed, and nothing is to run. */
  closing?: boolean;
  /** Whether it still misbehaves. */
  wild(): boolean;
  plot?: Plot | undefined;
}

export function simulatedModel(seat: ModelSeat): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "sim",
    modelId: "sim",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the runtime only streams")),
    doStream: async (options) => {
      const aside = isSummaryRequest(options);
      const by = seat.settings.storeClock > 0 ? seat.process.name : undefined;
      seat.referee.requested(seat.session, options.prompt, aside, by);
      if (seat.closing) seat.referee.breach("L7", seat.session, "a request is made by whoever only closes");
      const told = seat.plot && (seat.plot.answers.shift() ?? calmAnswer(aside));
      const answer = told ?? (seat.wild() ? drawAnswer(seat, aside) : calmAnswer(aside));
      if (!Array.isArray(answer)) {
        await new Promise<void>((resolve) => seat.process.after(seat.world.random.below(300), "refusal", resolve));
        throw answer.reject;
      }
      return { stream: streamOf(answer, seat, options.abortSignal) };
    },
  };
}

function isSummaryRequest({ prompt }: LanguageModelV4CallOptions): boolean {
  const last = prompt.at(-1);
  return (
    last?.role === "user" && last.content.some((part) => part.type === "text" && part.text.includes("Write a summary"))
  );
}

function calmAnswer(aside: boolean): Answer {
  return [...text(aside ? "the sum of it" : "well done", "1"), finish("stop")];
}

function drawAnswer({ world: { random }, settings }: ModelSeat, aside: boolean): Answer {
  if (random.chance(settings.modelFault / 2)) return { reject: refusal(random) };
  const whole = aside
    ? [...text("the sum of it ".repeat(1 + random.below(4)), "1"), finish("stop")]
    : drawMessage(random, settings.tasks);
  const told = random.chance(settings.modelLie) ? lie(random, whole) : whole;
  return random.chance(settings.modelFault) ? broken(random, told) : told;
}

const taskInput = '{"agent":"other","prompt":"look into it"}';
const tools = ["look", "put", "act", "edit", "check"] as const;

function drawMessage(random: Random, tasks: number): Part[] {
  const parts: Part[] = [];
  if (random.chance(0.3)) parts.push(...reasoning(random));
  if (random.chance(0.6)) parts.push(...text(words(random), "1"));
  if (random.chance(0.05)) parts.push(...providerCall());
  const calls = random.chance(0.55) ? 1 + random.below(3) : 0;
  for (let at = 0; at < calls; at += 1) {
    if (tasks > 0 && random.chance(tasks)) parts.push(...call("task", `c${at}`, taskInput));
    else parts.push(...call(random.pick(tools), `c${at}`));
  }
  if (calls === 0 && parts.every(({ type }) => !type.startsWith("text"))) parts.push(...text("so be it", "2"));
  return [...parts, finish(calls > 0 ? "tool-calls" : "stop")];
}

function words(random: Random): string {
  return random.chance(0.05) ? "many words ".repeat(600) : "a few words ".repeat(1 + random.below(5));
}

function reasoning(random: Random): Part[] {
  const signed = random.chance(0.5) ? { providerMetadata: { sim: { signature: `sig${random.below(1_000)}` } } } : {};
  return [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "let me see" },
    { type: "reasoning-end", id: "r", ...signed },
  ];
}

/** What endpoints say that is not so, or not well. */
function lie(random: Random, parts: Part[]): Part[] {
  const ends = parts.filter(({ type }) => type !== "finish");
  switch (random.below(9)) {
    case 0:
      return [...ends, finish("stop")];
    case 1:
      return [...text("nothing to call", "1"), finish("tool-calls")];
    case 2:
      return [...ends, finish("length")];
    case 3:
      return [...call("act", "same"), ...call("look", "same"), finish("tool-calls")];
    case 4:
      return [...call("act", ""), ...call("look", "  "), finish("tool-calls")];
    case 5:
      return [...text(" \n ", "1"), finish("stop")];
    case 6:
      return [...call("no such tool", "c0"), ...call("", "c1"), finish("tool-calls")];
    case 7:
      return [...call("act", "c0", random.pick(["", "null", '{"a":', "[1]", '{"a":"\\ud800"}'])), finish("tool-calls")];
    default:
      return [...text("half a character \ud83d", "1"), finish("stop")];
  }
}

function broken(random: Random, parts: readonly Part[]): Piece[] {
  const kept: Piece[] = parts.slice(0, random.below(parts.length + 1));
  switch (random.below(5)) {
    case 0:
      return [...kept, { fail: coded("ECONNRESET") }];
    case 1:
      return [...kept, { silence: true }];
    case 2:
      return [...kept, { type: "error", error: { type: "overloaded_error", message: "overloaded" } }];
    case 3:
      return [
        ...kept,
        { type: "error", error: { type: "invalid_request_error", message: "no" } },
        { fail: coded("EPIPE") },
      ];
    default:
      return kept;
  }
}

function refusal(random: Random): Error {
  const [statusCode, message, headers] = random.pick([
    [503, "busy", {}],
    [429, "slow down", { "retry-after": "3" }],
    [429, "slow down", { "retry-after": "7200" }],
    [400, "prompt is too long: 9 tokens > 8 maximum", {}],
    [400, "messages.1: Invalid `signature` in `thinking` block", {}],
    [402, "no credit", {}],
    [401, "who are you", {}],
    [0, "socket hang up", {}],
  ] as const);
  return statusCode === 0
    ? coded("ECONNREFUSED")
    : Object.assign(new Error(message), { statusCode, responseHeaders: { ...headers } });
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function streamOf(
  answer: Piece[],
  { process, world }: ModelSeat,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  let at = 0;
  let over = false;
  const stream = new AnswerStream<Part>(() => {
    process.after(world.random.below(200), "words", () => {
      stream.pulled();
      for (let burst = 1 + world.random.below(4); burst > 0 && !over; burst -= 1) {
        const piece = answer[at++];
        if (piece && !("fail" in piece) && !("silence" in piece)) {
          stream.enqueue(piece);
          continue;
        }
        over = true;
        if (!piece) stream.close();
        else if ("fail" in piece) stream.error(piece.fail);
        else return;
      }
    });
  });
  const abort = () => {
    if (!over) stream.error(signal?.reason);
    over = true;
  };
  signal?.addEventListener("abort", abort, { once: true });
  return stream.readable;
}

export function text(words: string, id: string): Part[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: words },
    { type: "text-end", id },
  ];
}

export function call(toolName: string, id: string, input = '{"a":1}'): Part[] {
  return [
    { type: "tool-input-start", id, toolName },
    { type: "tool-input-delta", id, delta: input },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName, input },
  ];
}

/** A call that the provider runs itself, with its result. */
function providerCall(): Part[] {
  const part = { toolCallId: "own", toolName: "web", providerExecuted: true } as const;
  return [
    { type: "tool-input-start", id: "own", toolName: "web", providerExecuted: true },
    { type: "tool-input-end", id: "own" },
    { type: "tool-call", input: "{}", ...part },
    { type: "tool-result", toolCallId: "own", toolName: "web", result: { found: 1 } },
  ];
}

export function finish(unified: "stop" | "tool-calls" | "length"): Part {
  const inputTokens = { total: 100, noCache: 100, cacheRead: undefined, cacheWrite: undefined };
  const outputTokens = { total: 10, text: 10, reasoning: undefined };
  return { type: "finish", usage: { inputTokens, outputTokens }, finishReason: { unified, raw: unified } };
}
