/**
 * Recovery for a model alone: for programs that call the AI SDK's `streamText` and `generateText` themselves.
 *
 * Owns: the options and their defaults, and an answer that is asked for whole. Does not own: a call (recovered-call).
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import type { Effects } from "../effects.ts";
import { PawlError } from "../error.ts";
import { gather } from "./gathered.ts";
import type { HoldBack } from "./outlet.ts";
import { policyOf, type RecoveryPolicy } from "./policy.ts";
import { type AttemptReport, type CallRules, RecoveredCall } from "./recovered-call.ts";
import { defaultWatch, type WatchPolicy } from "./watchdog.ts";

export interface RecoverOptions {
  /**
   * Changes to `defaultPolicy`; one call of the model is a step and a turn of its own. There is no preset: what can be
   * taken back is up to the consumer, not to policy.
   */
  recovery?: Partial<Omit<RecoveryPolicy, "preset" | "attemptsPerTurn" | "costPerTurn">>;
  /** Changes to `defaultWatch`, milliseconds; 0 switches a deadline off. */
  watch?: Partial<WatchPolicy>;
  /**
   * What becomes of reasoning before any output follows it.
   * - `hold` (default): it waits for the output. A lost attempt that had only thought is never seen, and a message that is
   *   stored is one attempt's, byte for byte: no history can be refused for it. The price is that thoughts come late.
   * - `show`: it is handed on as it comes. Where the attempt is lost, it is sealed: closed with a `reasoning-end` that has no
   *   provider metadata, and the next attempt's parts follow under ids of their own, at most `sealsPerStep` times. A message
   *   that is stored then begins with a thought that no signature proves. `@ai-sdk/anthropic` and `@ai-sdk/openai`
   *   (responses) leave it out of later requests, with a warning; chat packages send it joined to the next thought.
   *   The ends of thoughts come together, when the first output does.
   */
  reasoning?: "hold" | "show";
  /**
   * - `none` (default): text and tool input are handed on as they come. What breaks after that ends with an error.
   * - `answer`: nothing is handed on before the whole answer is good. Then every loss can be asked for again, and nothing
   *   streams.
   */
  buffer?: "none" | "answer";
  /**
   * Told of every attempt's end, before any wait, at once; what it throws, or rejects with later, is ignored. The usage in the `finish` of an
   * answer is that of its own attempt: what lost ones cost is told here alone.
   */
  onAttempt?(report: AttemptReport): unknown;
}

/**
 * The same model, whose calls are asked again where that is safe below a consumer that cannot take anything back. The
 * table is that of a session ({@link RecoveryPolicy}, `decide`), `discard` excepted: once text, tool input or a call was
 * let out, nothing is asked again, and the stream ends with an `error` part. A stream that was cut, an empty answer and
 * an error frame are errors as well, never a `stop`.
 *
 * - A tool call that the client runs, and what comes behind it, is handed on when its answer is good, never before.
 * - What fails for good is a {@link ModelCallFailed}: `doStream` rejects with it where nothing was let out, else it is the
 *   last part. The AI SDK's `maxRetries` does not ask again on top; its `streamRetries` (off by default) would, each time
 *   with a new budget. `streamText` still resolves `text` with the half: look at its `finishReason`, which is `error`.
 * - Aborting, or cancelling the stream, ends request and waits at once; the reason comes back as it was given.
 * - `doGenerate` goes through the stream, held back whole: there a cut is seen, and silence is told from a long answer.
 *
 * Build its provider with `watchedFetch`: then bytes count as signs of life, a terminal frame makes an answer good whatever the
 * connection does next, and a custom transport's own word counts. Fails with INVALID_INPUT for a figure that bounds
 * nothing, or for what is no `LanguageModelV4`. Do not hand such a model to a session: it recovers by itself.
 *
 * `@pawl/core/node` has the same function with this machine's `effects` as default.
 *
 * ```ts
 * const model = recover(openai("gpt-5"), { effects, onAttempt: ({ end, usage }) => books.add(end, usage) });
 * const { textStream } = streamText({ model, prompt });
 * ```
 */
export function recover(model: LanguageModelV4, options: RecoverOptions & { effects: Effects }): LanguageModelV4 {
  checkModel(model);
  const { recovery = {}, watch, buffer = "none", reasoning = "hold", effects, onAttempt = () => {} } = options;
  const rules: CallRules = {
    effects,
    policy: policyOf({ ...recovery, preset: "default" }),
    watch: { ...defaultWatch, ...watch },
    holdBack: holdBackOf(buffer, reasoning),
    onAttempt,
  };
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    doStream: (call) => new RecoveredCall(model, call, rules).open(),
    doGenerate: (call) => generated(model, call, { ...rules, holdBack: "answer" }),
  };
}

function holdBackOf(buffer: "none" | "answer", reasoning: "hold" | "show"): HoldBack {
  if (buffer === "answer") return "answer";
  return reasoning === "hold" ? "reasoning" : "starts";
}

async function generated(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  rules: CallRules,
): Promise<LanguageModelV4GenerateResult> {
  const { stream, request, response } = await new RecoveredCall(model, options, rules).open();
  const { metadata, ...answer } = await gather(stream);
  return {
    ...answer,
    ...(request ? { request } : {}),
    response: { ...metadata, ...response },
  };
}

function checkModel(model: unknown): void {
  const { specificationVersion, doStream } = (model ?? {}) as Partial<LanguageModelV4>;
  if (specificationVersion === "v4" && typeof doStream === "function") return;
  const what =
    typeof model === "string" ? `the text ${JSON.stringify(model)}` : `of specification ${specificationVersion}`;
  throw new PawlError(
    "INVALID_INPUT",
    `recover takes an AI SDK LanguageModelV4, this model is ${what}; make it with a current provider package, for example openai("gpt-5")`,
  );
}
