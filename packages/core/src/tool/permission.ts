/**
 * Permission as data: rules over tool, effect and input, for configuration files and for a person's standing answers.
 *
 * Owns: which rule decides. Does not own: asking (approval). Pure. Invariants:
 * 1. The last rule that matches decides, as in a list of exceptions; where none does, a person is asked.
 * 2. A shell line is judged by each of its simple commands and a list by each of its items, and the strictest word counts:
 *    `git *` lets `git log` run and not `git log; rm -rf .`.
 * 3. What allows must match exactly; what asks or denies also matches a path in other letters, as some disks do.
 * 4. In time proportional to the rules and to what the call says, however many pieces that has.
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
  for (const pattern of rules.flatMap(patternsOf)) checkPattern(pattern);
  return (question) => ruling(rules, question, options) ?? "ask";
}

function patternsOf({ tool, input }: PermissionRule): string[] {
  return [tool ?? "", ...Object.values(input ?? {})];
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
  const tests = rules.map((rule) => ({ say: rule.say, covers: testOf(rule, question, options) }));
  const named = new Set(rules.flatMap(({ input }) => Object.keys(input ?? {})));
  const words = piecesOf(question.input, named).map((piece) => tests.findLast(({ covers }) => covers(piece))?.say);
  if (words.includes("deny")) return "deny";
  if (words.includes("ask")) return "ask";
  return words.includes(undefined) ? undefined : "allow";
}

/** One of the things that a call asks for. Undefined: it is not made of several. */
type Piece = { field: string; value: string } | undefined;

/** Whether a rule is about a piece. The other fields count as a whole, for all pieces the same. */
type Test = (piece: Piece) => boolean;

/** The commands of its lines, and the items of those lists that a rule names. */
function piecesOf(input: unknown, named: ReadonlySet<string>): Piece[] {
  if (typeof input !== "object" || input === null) return [undefined];
  const split = Object.entries(input).filter(
    ([field, value]) => readingOf(field) === "command" || (named.has(field) && Array.isArray(value)),
  );
  const pieces = split.flatMap(([field]) => valuesOf(input, field).map((value) => ({ field, value })));
  return pieces.length > 0 ? pieces : [undefined];
}

function testOf(rule: PermissionRule, { tool, effect, input }: PermissionQuestion, options: PermissionOptions): Test {
  // In a log there may be longer ones than rules can be made of: such an answer allows nothing.
  const long = patternsOf(rule).some(({ length }) => length > limit.patternChars);
  if (long) return () => rule.say !== "allow";
  if (rule.tool !== undefined && !matchesText(rule.tool, tool)) return () => false;
  if (rule.effect !== undefined && rule.effect !== effect) return () => false;
  const fields = Object.entries(rule.input ?? {}).map(([field, pattern]) => {
    const matches = matcherOf(field, pattern, rule.say, options);
    let whole: boolean | undefined;
    return (piece: Piece) => {
      if (piece?.field === field) return matches(piece.value);
      whole ??= matchesAll(valuesOf(input, field), matches, rule.say);
      return whole;
    };
  });
  return (piece) => fields.every((matches) => matches(piece));
}

/** Of several together: all of them are allowed, or one is enough to ask or deny. */
function matchesAll(values: readonly string[], matches: (value: string) => boolean, say: PermissionWord): boolean {
  return say === "allow" ? values.length > 0 && values.every(matches) : values.some(matches);
}

/** What a field says: the items of a list, the commands of a shell line. */
function valuesOf(input: unknown, field: string): string[] {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, field)) return [];
  const value = (input as Record<string, unknown>)[field];
  const values = Array.isArray(value) ? value : [value];
  const texts = values.map((one) => (typeof one === "string" ? one : (JSON.stringify(one) ?? "")));
  return readingOf(field) === "command" ? texts.flatMap(commandPieces) : texts;
}

function matcherOf(
  field: string,
  pattern: string,
  say: PermissionWord,
  { cwd }: PermissionOptions,
): (value: string) => boolean {
  switch (readingOf(field)) {
    case "command":
      return (value) => matchesCommand(pattern, value);
    case "path": {
      const plain = plainPath(pattern, cwd);
      return (value) => matchesPath(plain, plainPath(value, cwd), say === "allow" ? "exact" : "any-case");
    }
    case "text":
      return (value) => matchesText(pattern, value);
  }
}
