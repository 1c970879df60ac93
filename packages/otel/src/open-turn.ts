/** What is known of a turn that has not ended. Gone with its end: memory is bounded by one turn. */
import type { Attributes } from "@opentelemetry/api";
import type { Effect, EventOf, ModelRef } from "@pawl/core";
import type { MetricName } from "./convention.ts";
import type { FoldOptions, Said } from "./fold.ts";
import { childrenPerTurn, type SpanShape } from "./span.ts";
import type { TurnClock } from "./turn-clock.ts";

export interface OpenAttempt {
  started: EventOf<"attempt.started">;
  start: number;
  epoch: number;
}

/** A body that was entered and has not ended. */
export interface OpenBody {
  start: number;
  epoch: number;
  effect: Effect;
  /** 1 for the first entry of its call. */
  entry: number;
}

export interface OpenCall {
  tool: string;
  providerId?: string;
  input?: string;
  approvalMs: number;
  entries: number;
  body?: OpenBody;
}

export interface OpenTurn {
  started: EventOf<"turn.started">;
  clock: TurnClock;
  epoch: number;
  /** When the driver before this one wrote its last fact: nothing of it can be shown to have lasted longer. */
  seenAt: number;
  root: SpanShape;
  children: SpanShape[];
  /** Spans beyond the bound, counted. */
  left: number;
  /** Numbers of the steps, by id. */
  steps: Map<string, number>;
  attempts: Map<string, OpenAttempt>;
  /** The attempt whose message follows in the same batch. */
  committed?: { attempt: string; span: SpanShape };
  /** Why the last attempt ended, where it failed. */
  lastError?: string;
  calls: Map<string, OpenCall>;
  approvals: Map<string, { call: string; at: number }>;
  elapsedMs: number;
  requests: number;
  drives: number;
  model?: ModelRef;
  tokens: { input: number; output: number; reported: boolean };
}

/** One fact, in one turn: what every reader of events needs. */
export interface Telling {
  open: OpenTurn;
  options: FoldOptions;
  epoch: number;
  said: Said[];
}

export function addChild(open: OpenTurn, span: SpanShape): void {
  if (open.children.length < childrenPerTurn) open.children.push(span);
  else open.left += 1;
}

export function addMoment({ open }: Telling, name: string, attributes: Attributes): void {
  if (open.root.moments.length < childrenPerTurn) open.root.moments.push({ name, at: open.clock.now, attributes });
  else open.left += 1;
}

export function measure(
  { said }: Pick<Telling, "said">,
  metric: MetricName,
  value: number,
  attributes: Attributes,
): void {
  said.push({ type: "measure", measurement: { metric, value, attributes } });
}
