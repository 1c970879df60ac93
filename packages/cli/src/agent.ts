/** The coding agent: instructions, tools and rules for one workspace. */

import { platform } from "node:os";
import type { Agent, ToolSet } from "@pawl/core";
import type { ChosenModel } from "./model.ts";
import { Questions } from "./question.ts";
import { workspaceTools } from "./tools/workspace-tools.ts";

export interface AgentOptions {
  chosen: ChosenModel;
  cwd: string;
  /** Where the whole of a long output goes. */
  spillDir: string;
  /** What recovery needs of commands. */
  commandDir: string;
  questions: Questions;
  /** Allow everything without asking. */
  yes: boolean;
  idleMs?: number;
  windowTokens?: number;
  /** Tools beside those of the workspace: of MCP servers. */
  serverTools?: ToolSet;
}

export function codingAgent(options: AgentOptions): Agent {
  const { chosen, cwd, spillDir, commandDir, questions, yes, idleMs, windowTokens, serverTools } = options;
  return {
    model: chosen.model,
    ...(chosen.providerOptions ? { providerOptions: chosen.providerOptions } : {}),
    ...(chosen.images ? { images: chosen.images } : {}),
    instructions: instructions(cwd),
    tools: {
      ...workspaceTools({
        cwd,
        spillDir,
        commandDir,
        images: chosen.images,
        asker: Questions.possible ? questions.asker : undefined,
      }),
      ...serverTools,
    },
    permission: ({ effect }) => (yes || questions.allAllowed || effect === "read" ? "allow" : "ask"),
    ...(Questions.possible ? { approver: questions.approver } : {}),
    ...(windowTokens === undefined ? {} : { windowTokens }),
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
