/**
 * What may run without asking: the mode, and the rules of the configuration. Pure.
 *
 * Invariants:
 * 1. A deny that matches stands, whoever wrote it and whatever else allows: also in mode `all`.
 * 2. In mode `plan` only what reads runs; nothing a file or a person has said before widens that.
 * 3. The rules of a foreign project only add to what is asked or denied.
 * 4. A path or an address is judged as it is spelled and as where it leads, and the stricter word counts: a repository can bring a link to `.git`.
 * 5. `fetch` reads, and its address can carry away what was read: a person has named the host, a rule allows it, or a person is asked.
 */
import {
  type Permission,
  type PermissionQuestion,
  type PermissionRule,
  type PermissionVerdict,
  type PermissionWord,
  permissionOf,
  ruling,
} from "@pawl/core";
import type { Effective } from "./config/layer.ts";
import type { Mode } from "./config/schema.ts";
import { hostOf } from "./named-hosts.ts";

export interface PermissionPlace {
  cwd: string;
  /** Where a path leads. */
  real(path: string): string;
  /** The person has said yes to everything in this run. */
  allAllowed(): boolean;
  /** The person has named this host in what they said. */
  named(host: string): boolean;
}

/** Files of these run programs or change what may run, later and outside of any question: they are asked about all the same. */
const sensitive: PermissionRule[] = ["**/.git/**", "**/.git", "**/.pawl/**"].map((path) => ({
  input: { path },
  say: "ask",
}));
const edits: PermissionRule[] = [{ tool: "write", say: "allow" }, { tool: "edit", say: "allow" }, ...sensitive];

const planReason =
  "this is plan mode: only tools that read may run, nothing is changed. Finish the plan and say what you would do; the person starts it in another mode";
const ruleReason = "a rule of the configuration denies this call";

/** Throws INVALID_INPUT for a rule that is none. */
export function permissionFor(
  { mode, permissions, narrowing }: Pick<Effective, "mode" | "permissions" | "narrowing">,
  { cwd, real, allAllowed, named }: PermissionPlace,
): Permission {
  const all = [...permissions, ...narrowing];
  permissionOf(all);
  const denies = all.filter(({ say }) => say === "deny");
  const own = permissions.filter(({ say }) => say !== "deny");
  const foreign = narrowing.filter(({ say }) => say === "ask");
  const judge = (question: PermissionQuestion): PermissionVerdict => {
    if (ruling(denies, question, { cwd }) !== undefined) return { say: "deny", reason: ruleReason };
    const reads = question.effect === "read";
    // A task is asked about call by call, by the same rules: itself it does nothing.
    const isTask = question.tool === "task";
    if (mode === "plan" && !reads && !isTask) return { say: "deny", reason: planReason };
    if (mode === "all" || allAllowed()) return "allow";
    if (ruling(foreign, question, { cwd }) !== undefined) return "ask";
    const word = ruling(own, question, { cwd });
    if (word !== undefined) return word;
    if (question.tool === "fetch") return named(hostOf(urlOf(question) ?? "") ?? "") ? "allow" : "ask";
    if (reads || isTask) return "allow";
    return mode === "accept-edits" ? (ruling(edits, question, { cwd }) ?? "ask") : "ask";
  };
  const as = (question: PermissionQuestion, field: object) =>
    stricter(judge(question), judge({ ...question, input: { ...(question.input as object), ...field } }));
  return (question) => {
    const { path } = (question.input ?? {}) as { path?: unknown };
    if (typeof path === "string") return as(question, { path: real(path) });
    const url = question.tool === "fetch" ? urlOf(question) : undefined;
    return url !== undefined && URL.canParse(url) ? as(question, { url: new URL(url).href }) : judge(question);
  };
}

function urlOf({ input }: PermissionQuestion): string | undefined {
  const { url } = (input ?? {}) as { url?: unknown };
  return typeof url === "string" ? url : undefined;
}

const strictness: PermissionWord[] = ["allow", "ask", "deny"];

function stricter(a: PermissionVerdict, b: PermissionVerdict): PermissionVerdict {
  const rank = (verdict: PermissionVerdict) => strictness.indexOf(typeof verdict === "string" ? verdict : verdict.say);
  return rank(b) > rank(a) ? b : a;
}

/** What the model is told of it. */
export function modeInstruction(mode: Mode): string[] {
  if (mode !== "plan") return [];
  return [
    "You are in plan mode: only tools that read may run. Look at what is there, change nothing, and end with a plan of what you would do, file by file.",
  ];
}
