/**
 * Permission as data: rules over tool, effect and input, for configuration files and for a person's standing answers.
 *
 * Owns: which rule decides. Does not own: asking (approval). Pure. Invariants:
 * 1. The last rule that matches decides, as in a list of exceptions; where none does, a person is asked.
 * 2. A shell line is judged by each of its simple commands, and the strictest word counts: `git *` lets `git log` run
 *    and not `git log; rm -rf .`.
 * 3. What allows must match exactly; what asks or denies also matches a path in other letters, as some disks do.
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { Effect } from "../log/event.ts";
import { seen } from "../log/shape.ts";
import type { Permission, PermissionQuestion } from "./approval.ts";
import { commandPieces, matchesCommand, matchesPath, matchesText, plainPath, readingOf } from "./pattern.ts";

export type PermissionWord = "allow" | "ask" | "deny";

/** Patterns by the name of an input field: `{command: "git *"}`, `{path: "src/**"}`. */
export interface InputPatterns {
  [field: string]: string;
}

export interface PermissionRule {
  /** A pattern over the tool's name; default any. */
  tool?: string;
  effect?: Effect;
  /**
   * Every field named here must be there and match. Fields called `command`, `cmd` or `script` are read as shell lines,
   * those whose name ends in `path`, `file`, `folder`, `dir` or `cwd` as paths, others as text.
   */
  input?: InputPatterns;
  say: PermissionWord;
}

export interface PermissionOptions {
  /** Absolute paths below it are matched as relative ones. */
  cwd?: string;
}

/**
 * The rules as a policy. A pattern is no sandbox: it sees what a call says, not what its command does. Throws INVALID_INPUT for a
 * pattern beyond `limit.patternChars`.
 *
 * @example
 * const permission = permissionOf([
 *   { say: "ask" },
 *   { effect: "read", say: "allow" },
 *   { tool: "bash", input: { command: "git *" }, say: "allow" },
 *   { tool: "bash", input: { command: "git push *" }, say: "ask" },
 *   { input: { path: "**\/.env" }, say: "deny" },
 * ]);
 */
export function permissionOf(rules: readonly PermissionRule[], options: PermissionOptions = {}): Permission {
  for (const { tool, input } of rules)
    for (const pattern of [tool ?? "", ...Object.values(input ?? {})]) checkPattern(pattern);
  return (question) => ruling(rules, question, options) ?? "ask";
}

function checkPattern(pattern: string): void {
  if (pattern.length <= limit.patternChars) return;
  throw new PawlError(
    "INVALID_INPUT",
    `a permission pattern has ${pattern.length} characters, at most ${limit.patternChars}: ${seen(pattern)}; write a shorter one`,
  );
}

/** Undefined: no rule says anything of this call, or of a part of it. */
export function ruling(
  rules: readonly PermissionRule[],
  question: PermissionQuestion,
  options: PermissionOptions = {},
): PermissionWord | undefined {
  const words = readings(question.input).map(
    (input) => rules.findLast((rule) => matches(rule, { ...question, input }, options))?.say,
  );
  if (words.includes("deny")) return "deny";
  if (words.includes("ask")) return "ask";
  return words.includes(undefined) ? undefined : "allow";
}

/** The input once for each simple command that it holds. */
function readings(input: unknown): unknown[] {
  if (typeof input !== "object" || input === null) return [input];
  const fields = Object.entries(input).filter(
    (entry): entry is [string, string] => readingOf(entry[0]) === "command" && typeof entry[1] === "string",
  );
  const split = fields.flatMap(([field, line]) => commandPieces(line).map((piece) => ({ ...input, [field]: piece })));
  return split.length > 0 ? split : [input];
}

function matches(
  rule: PermissionRule,
  { tool, effect, input }: PermissionQuestion,
  options: PermissionOptions,
): boolean {
  // In a log there may be longer ones than rules can be made of: such an answer allows nothing.
  const long = [rule.tool ?? "", ...Object.values(rule.input ?? {})].some(({ length }) => length > limit.patternChars);
  if (long) return rule.say !== "allow";
  if (rule.tool !== undefined && !matchesText(rule.tool, tool)) return false;
  if (rule.effect !== undefined && rule.effect !== effect) return false;
  return Object.entries(rule.input ?? {}).every(([field, pattern]) => {
    const values = valuesOf(input, field);
    if (values.length === 0) return false;
    const one = (value: string) => matchesValue(field, pattern, value, rule.say, options);
    // A list of paths is allowed as a whole, and refused for one of them.
    return rule.say === "allow" ? values.every(one) : values.some(one);
  });
}

function valuesOf(input: unknown, field: string): string[] {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, field)) return [];
  const value = (input as Record<string, unknown>)[field];
  const values = Array.isArray(value) ? value : [value];
  return values.map((one) => (typeof one === "string" ? one : (JSON.stringify(one) ?? "")));
}

function matchesValue(
  field: string,
  pattern: string,
  value: string,
  say: PermissionWord,
  { cwd }: PermissionOptions,
): boolean {
  switch (readingOf(field)) {
    case "command": {
      const pieces = commandPieces(value);
      const one = (piece: string) => matchesCommand(pattern, piece);
      return say === "allow" ? pieces.length > 0 && pieces.every(one) : pieces.some(one);
    }
    case "path":
      return matchesPath(plainPath(pattern, cwd), plainPath(value, cwd), say === "allow" ? "exact" : "any-case");
    case "text":
      return matchesText(pattern, value);
  }
}
