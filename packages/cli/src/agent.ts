/** The coding agent: instructions, tools and rules for one workspace. */

import { platform } from "node:os";
import { createInterface } from "node:readline/promises";
import type { Agent, ApprovalAnswer, Approver, PermissionQuestion } from "@pawl/core";
import type { ChosenModel } from "./model.ts";
import { workspaceTools } from "./tools/workspace-tools.ts";

export interface AgentOptions {
  chosen: ChosenModel;
  cwd: string;
  /** Where the whole of a long output goes. */
  spillDir: string;
  /** Allow everything without asking. */
  yes: boolean;
  idleMs?: number;
}

export function codingAgent({ chosen, cwd, spillDir, yes, idleMs }: AgentOptions): Agent {
  return {
    ...chosen,
    instructions: instructions(cwd),
    tools: workspaceTools({ cwd, spillDir }),
    permission: ({ effect }) => (yes || effect === "read" ? "allow" : "ask"),
    ...(process.stdin.isTTY && process.stderr.isTTY ? { approver: askInTerminal } : {}),
    ...(idleMs === undefined ? {} : { watch: { firstMs: idleMs, silenceMs: idleMs } }),
  };
}

function instructions(cwd: string): string {
  return [
    "You are Pawl, a coding agent. You work in one folder with the tools you are given.",
    `The folder is ${cwd}, on ${platform()}. Paths are relative to it.`,
    "Look before you change: read a file before you edit it, and search instead of guessing.",
    "Make the smallest change that does what was asked, in the style of the code around it.",
    "Check your work: run the project's tests or the program itself when there is a way to.",
    "A result that begins with TOOL_OUTCOME_UNKNOWN may have taken effect: look at what it would have changed before you decide.",
    "When you are done, say in a few sentences what you changed and how you know that it works.",
  ].join("\n");
}

/** Without a terminal there is nobody to ask: the runtime then denies at once and says so. */
const askInTerminal: Approver = async (question, signal): Promise<ApprovalAnswer> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`\n  ${describe(question)}\n  Allow this? [y/N] `, { signal });
    return { answer: /^y(es)?$/i.test(answer.trim()) ? "allow" : "deny", by: "terminal" };
  } finally {
    terminal.close();
  }
};

function describe({ tool, input }: PermissionQuestion): string {
  const command = (input as { command?: unknown }).command;
  return typeof command === "string" ? `${tool}: ${command}` : `${tool} ${JSON.stringify(input).slice(0, 400)}`;
}
