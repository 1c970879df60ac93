import type { Issued } from "../issued.ts";

/** What a rule is about; the same name where protocols share the rule. */
export type Rule =
  | "missing-field"
  | "wrong-type"
  | "unknown-role"
  | "first-not-user"
  | "empty-message"
  | "blank-text"
  | "trailing-whitespace"
  | "call-unanswered"
  | "call-duplicate"
  | "call-id"
  | "tool-name"
  | "arguments"
  | "result-orphan"
  | "result-duplicate"
  | "result-not-first"
  | "lone-surrogate"
  | "signature-missing"
  | "signature-unknown"
  | "signature-modified"
  | "thinking-not-first"
  | "thinking-last"
  | "reasoning-required"
  | "reasoning-forbidden"
  | "reasoning-alone"
  | "item-unknown"
  | "item-duplicate"
  | "item-id"
  | "cache-markers";

/** One broken rule, with all that the real endpoint would say about it. */
export interface Violation {
  readonly rule: Rule;
  /** Where in the body: `messages.1.content.0`. */
  readonly path: string;
  /** The real endpoint's wording, where that is public. */
  readonly message: string;
  /** 400 nearly always; 404 for an item that is not stored. */
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
}

export interface Verdict {
  readonly ok: boolean;
  /** The first is the one that the endpoint would answer with. */
  readonly violations: readonly Violation[];
}

/** Whether chat history must, must not or may carry `reasoning_content`. */
export type ReasoningMood = "required" | "forbidden" | "accepted";

export interface JudgeOptions {
  /** Knows the signatures and items that were handed out. Without it none is called unknown or modified. */
  readonly issued?: Issued;
  /** Chat only. Default: accepted. */
  readonly reasoningMood?: ReasoningMood;
}

/** Collects violations; the judges stay pure by making one each. */
export class Findings {
  readonly violations: Violation[] = [];

  add(
    rule: Rule,
    path: string,
    message: string,
    details: Partial<Pick<Violation, "status" | "param" | "code">> = {},
  ): void {
    this.violations.push({ rule, path, message, status: 400, param: null, code: null, ...details });
  }

  verdict(): Verdict {
    return { ok: this.violations.length === 0, violations: this.violations };
  }
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How an endpoint names the type of a value that it did not want. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "decimal";
  return typeof value;
}
