/** What a session is driven with: model, tools and rules. Not recorded as such; what it sends is (request header). */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { estimateText } from "../attempt/estimate.ts";
import { defaultPolicy, policyOf, type RecoveryPolicy } from "../attempt/policy.ts";
import { defaultWatch, type WatchPolicy } from "../attempt/watchdog.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { headerShape } from "../log/check.ts";
import { seen } from "../log/shape.ts";
import type { ModelRef, ReasoningReplay, RequestHeader, Settings, Usage } from "../log/value.ts";
import type { Approver, Permission, Unanswered } from "../tool/approval.ts";
import { type PreparedTools, prepareTools } from "../tool/prepare.ts";
import type { ToolSet } from "../tool/tool.ts";
import { type CompactionPolicy, compactionOf } from "./compaction.ts";
import type { Snapshotter } from "./workspace-snapshot.ts";

export interface Agent {
  /** Any AI SDK `LanguageModelV4`. */
  model: LanguageModelV4;
  tools?: ToolSet;
  instructions?: string;
  settings?: Settings;
  toolChoice?: NonNullable<RequestHeader["toolChoice"]>;
  providerOptions?: NonNullable<RequestHeader["providerOptions"]>;
  /** Which reasoning goes back to the model; default: what carries the provider's own proof. */
  reasoning?: ReasoningReplay;
  /** Whether the model is shown pictures that people and tools hand over, or told their names; default `name`. */
  images?: "send" | "name";
  /** Marks up to where a provider should keep a request's prefix, where it wants to be told (Anthropic); default `auto`. */
  cache?: "auto" | "off";
  /** Changes to {@link defaultPolicy}: data, per failure kind and per budget. */
  recovery?: Partial<RecoveryPolicy>;
  /** Changes to {@link defaultWatch}, milliseconds; 0 switches a deadline off. */
  watch?: Partial<WatchPolicy>;
  /** Default: everything is allowed. `permissionOf` makes one from rules. */
  permission?: Permission;
  /** Who is asked where the policy says `ask`. An answer by post (`session.answer`) is as good as theirs. */
  approver?: Approver;
  /** What becomes of a question that nobody here can answer; default `deny`, at once. */
  unanswered?: Unanswered;
  /** How long a question stays open, ms; default 0: without end. Then the call is denied. */
  approvalMs?: number;
  /** Whether `read` tools may begin as soon as their call is whole, while the answer is still streamed; default false. */
  eagerReads?: boolean;
  /**
   * What becomes of inputs and steers that wait when a turn is stopped: they wait for the next turn (`keep`, default), or
   * leave the mailbox and come back with the turn's result (`return`).
   */
  afterAbort?: "keep" | "return";
  /** How long a drive waits for space on a full disk, all pauses together, ms; default an hour. Then it gives up. */
  pauseMs?: number;
  stepsPerTurn?: number;
  concurrentTools?: number;
  /** What the results of one message may bring into context together, characters. */
  batchOutputChars?: number;
  /** The model's context window, tokens: then results keep to what is left of it, and a conversation is compacted in time. */
  windowTokens?: number;
  /** Changes to {@link defaultCompaction}; `{ mode: "off" }` switches it off, on every path. */
  compaction?: Partial<CompactionPolicy>;
  /** How long a body may take to listen to its signal, ms. */
  toolGraceMs?: number;
  /** Keeps the workspace before each step with effects, so that it can be brought back; default: nothing is kept. */
  snapshot?: Snapshotter;
  /** What becomes of a step whose workspace could not be kept: it runs all the same (default), or its turn fails. */
  withoutSnapshot?: "go-on" | "stop";
  /** How long a snapshot may take, ms; default a minute. */
  snapshotMs?: number;
  /** The price of one request, in units of your price list. */
  price?(usage: Usage, model: ModelRef): number | undefined;
}

/** An agent with every default filled in and every schema resolved. */
export interface PreparedAgent {
  model: LanguageModelV4;
  tools: PreparedTools;
  header: RequestHeader;
  recovery: RecoveryPolicy;
  watch: WatchPolicy;
  permission: Permission;
  approver: Approver | undefined;
  unanswered: Unanswered;
  approvalMs: number;
  cache: "auto" | "off";
  eagerReads: boolean;
  afterAbort: "keep" | "return";
  pauseMs: number;
  stepsPerTurn: number;
  concurrentTools: number;
  toolGraceMs: number;
  batchOutputChars: number;
  windowTokens: number | undefined;
  compaction: CompactionPolicy;
  /** What instructions and tools take of every request, estimated. */
  overheadTokens: number;
  snapshot: Snapshotter | undefined;
  withoutSnapshot: "go-on" | "stop";
  snapshotMs: number;
  price: NonNullable<Agent["price"]>;
}

/** Throws INVALID_INPUT for a figure with which no turn could come to its end. */
export async function prepareAgent(agent: Agent): Promise<PreparedAgent> {
  checkModel(agent.model);
  checkFigures(agent);
  checkWords(agent);
  const tools = await prepareTools(agent.tools ?? {});
  const header = plainHeader(headerOf(agent, tools));
  const compaction = compactionOf(agent.compaction);
  const recovery = agent.recovery ? policyOf(agent.recovery) : defaultPolicy;
  return {
    model: agent.model,
    tools,
    header,
    // Off is off: no detour over a request that did not fit.
    recovery:
      compaction.mode === "off" ? { ...recovery, retry: { ...recovery.retry, overflow: "stop" as const } } : recovery,
    compaction,
    overheadTokens: estimateText((header.instructions ?? "") + JSON.stringify(header.tools)),
    watch: { ...defaultWatch, ...agent.watch },
    permission: agent.permission ?? (() => "allow"),
    approver: agent.approver,
    unanswered: agent.unanswered ?? "deny",
    approvalMs: agent.approvalMs ?? 0,
    cache: agent.cache ?? "auto",
    eagerReads: agent.eagerReads ?? false,
    afterAbort: agent.afterAbort ?? "keep",
    pauseMs: agent.pauseMs ?? limit.pauseMs,
    stepsPerTurn: agent.stepsPerTurn ?? limit.stepsPerTurn,
    concurrentTools: agent.concurrentTools ?? limit.concurrentTools,
    toolGraceMs: Math.min(agent.toolGraceMs ?? limit.toolGraceMs, limit.timerMs),
    batchOutputChars: agent.batchOutputChars ?? limit.batchOutputChars,
    windowTokens: agent.windowTokens,
    snapshot: agent.snapshot,
    withoutSnapshot: agent.withoutSnapshot ?? "go-on",
    snapshotMs: Math.min(agent.snapshotMs ?? limit.snapshotMs, limit.timerMs),
    price: agent.price ?? (() => undefined),
  };
}

const atLeast = {
  stepsPerTurn: 1,
  concurrentTools: 1,
  toolGraceMs: 0,
  snapshotMs: 0,
  approvalMs: 0,
  pauseMs: 0,
  batchOutputChars: 0,
  windowTokens: 1,
} as const;
const figures = Object.entries(atLeast);

function checkFigures(agent: Agent): void {
  for (const [name, least] of figures) checkFigure(name, least, agent[name as keyof typeof atLeast]);
  for (const [name, value] of Object.entries(agent.watch ?? {})) checkFigure(`watch.${name}`, 0, value);
}

function checkFigure(name: string, least: number, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= least)) return;
  throw new PawlError("INVALID_INPUT", `the agent's ${name} is ${least} or more, is ${seen(value)}`);
}

const words = {
  reasoning: ["send", "turn", "drop"],
  images: ["send", "name"],
  cache: ["auto", "off"],
  unanswered: ["deny", "wait", "abort"],
  afterAbort: ["keep", "return"],
  withoutSnapshot: ["go-on", "stop"],
} as const satisfies { [name in keyof Agent]?: readonly string[] };

/** A word that nobody knows would be read as some other one. */
function checkWords(agent: Agent): void {
  for (const [name, known] of Object.entries(words)) {
    const value: unknown = agent[name as keyof typeof words];
    if (value === undefined || (known as readonly unknown[]).includes(value)) continue;
    throw new PawlError("INVALID_INPUT", `the agent's ${name} is one of ${known.join(", ")}, is ${seen(value)}`);
  }
}

/** Said before anything is posted: older provider packages, and model names as text, fit the AI SDK's own functions only. */
function checkModel(model: unknown): void {
  if (typeof model === "string") {
    throw new PawlError(
      "INVALID_INPUT",
      `the agent's model is the text ${JSON.stringify(model)}; make it with a provider package, for example openai("gpt-5")`,
    );
  }
  const { specificationVersion, doStream } = (model ?? {}) as Partial<LanguageModelV4>;
  if (specificationVersion === "v4" && typeof doStream === "function") return;
  throw new PawlError(
    "INVALID_INPUT",
    `the agent's model must be an AI SDK LanguageModelV4, its specification is ${JSON.stringify(specificationVersion)}; update the provider package`,
  );
}

/** As it will be recorded, and nobody else's to change. Refused before an input is posted that could not be driven. */
function plainHeader(header: RequestHeader): RequestHeader {
  let problem: string | undefined;
  try {
    problem = headerShape.check(header, "agent");
    if (problem === undefined) return JSON.parse(JSON.stringify(header)) as RequestHeader;
  } catch (cause) {
    throw new PawlError("INVALID_INPUT", "the agent's settings, options or tools are not JSON", { cause });
  }
  throw new PawlError("INVALID_INPUT", problem);
}

function headerOf(agent: Agent, tools: PreparedTools): RequestHeader {
  return {
    model: { provider: agent.model.provider, id: agent.model.modelId },
    ...(agent.instructions === undefined ? {} : { instructions: agent.instructions }),
    tools: [...tools.values()].map((tool) => tool.header),
    ...(agent.settings ? { settings: agent.settings } : {}),
    ...(agent.toolChoice ? { toolChoice: agent.toolChoice } : {}),
    ...(agent.providerOptions ? { providerOptions: agent.providerOptions } : {}),
    ...(agent.reasoning ? { reasoning: agent.reasoning } : {}),
    ...(agent.images === "send" ? { images: "send" as const } : {}),
  };
}
