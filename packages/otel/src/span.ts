/** What a trace is before any tracer has seen it: plain values, the same live and from the log. */
import type { Attributes } from "@opentelemetry/api";

export interface SpanShape {
  /** Unique within its session: the id of the turn, attempt, approval, or of a call and its entry. */
  id: string;
  name: string;
  kind: "internal" | "client";
  /** UTC ms, with fractions. */
  start: number;
  end: number;
  attributes: Attributes;
  moments: Moment[];
  /** `message` only where content is recorded: providers quote what they refuse. */
  error?: { type: string; message?: string };
}

/** Something that took no time: an event of a span. */
export interface Moment {
  name: string;
  at: number;
  attributes: Attributes;
}

/** One ended turn, whole. */
export interface TurnTrace {
  session: string;
  turn: string;
  /** The turn that this one goes on from. */
  continues?: string;
  root: SpanShape;
  children: SpanShape[];
}

/** Content is cut to this, characters: backends refuse or drop larger attributes. */
export const contentChars = 8_000;
/** A batch processor's queue holds 2048 spans by default and drops what is beyond it: a turn must fit. */
export const childrenPerTurn = 1_500;
