/**
 * What an *always* would mean: the narrowest pattern that still is of use, or the very same call. Pure.
 *
 * It errs to the narrow side: a program that runs what it is told (a shell, an interpreter, `xargs`) or that takes away gets no
 * pattern, and neither does a line of several commands.
 */
import type { InputPatterns, PermissionQuestion } from "@pawl/core";
import { hostOf } from "./named-hosts.ts";

export interface Grant {
  /** Undefined: only the very same call. */
  input?: InputPatterns;
  /** As the person is asked. */
  words: string;
}

/** The first word after these says what they do. */
const withVerb = new Set(["git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "dotnet", "mvn", "gradle"]);
/** And after these verbs the next word. */
const runner = new Set(["run", "run-script"]);
/** Verbs that run or fetch whatever stands behind them, in one of their options, or in a file of theirs. */
const delegating = [
  "exec",
  "x",
  "dlx",
  "install",
  "i",
  "add",
  "ci",
  "get",
  "create",
  "init",
  "explore",
  "node",
  "workspace",
  "workspaces",
  "bisect",
  "rebase",
  "submodule",
  "difftool",
  "mergetool",
  "filter-branch",
  "grep",
  "config",
  "generate",
  "tool",
  "vet",
];
/** And those that take away. */
const takingAway = [
  "delete",
  "rm",
  "clean",
  "reset",
  "checkout",
  "restore",
  "switch",
  "stash",
  "branch",
  "tag",
  "worktree",
  "push",
  "uninstall",
  "remove",
  "publish",
  "unpublish",
  "prune",
  "gc",
];
const broad = new Set([...delegating, ...takingAway]);
/** They look or check. A test runs the project's code, which whoever says *always* has seen. */
const looking = new Set([
  "ls",
  "cat",
  "head",
  "tail",
  "wc",
  "grep",
  "pwd",
  "which",
  "file",
  "stat",
  "du",
  "df",
  "diff",
  "tsc",
  "biome",
  "eslint",
  "jest",
  "vitest",
  "pytest",
  "ruff",
  "mypy",
]);

const sameCall: Grant = { words: "exactly this call" };

export function proposedGrant({ tool, input }: PermissionQuestion): Grant {
  const { command, path, url } = (typeof input === "object" && input !== null ? input : {}) as {
    [name: string]: unknown;
  };
  if (tool === "bash" && typeof command === "string") return commandGrant(command);
  if (typeof path === "string" && (tool === "write" || tool === "edit") && !/[*?]/.test(path))
    return { input: { path }, words: `${tool} ${path}` };
  if (tool === "fetch" && typeof url === "string" && hostOf(url) !== undefined) {
    const pages = `${new URL(url).origin}/*`;
    return { input: { url: pages }, words: `fetch ${pages}` };
  }
  return sameCall;
}

function commandGrant(command: string): Grant {
  // One plain command: no other beside it, no redirection, nothing that the shell puts in its place.
  if (/[;&|\n\r(){}<>`$*?\\"'#]/.test(command)) return sameCall;
  const [program = "", verb = "", target = ""] = command.trim().split(/\s+/);
  if (looking.has(program)) return grantOf([program]);
  if (!withVerb.has(program) || !isWord(verb) || broad.has(verb)) return sameCall;
  // A plugin's goal: any program.
  if (program === "mvn" && verb.includes(":")) return sameCall;
  if (!runner.has(verb)) return grantOf([program, verb]);
  return isWord(target) && program !== "go" && program !== "cargo" ? grantOf([program, verb, target]) : sameCall;
}

function isWord(text: string): boolean {
  return /^[a-z][\w:.-]*$/i.test(text);
}

function grantOf(words: readonly string[]): Grant {
  const pattern = `${words.join(" ")} *`;
  return { input: { command: pattern }, words: pattern };
}
