/** The coding agent: instructions, tools and rules for one workspace. */

import { platform } from "node:os";
import { type Agent, type Runtime, taskTool } from "@pawl/core";
import type { ChosenModel } from "./model.ts";
import { Questions } from "./question.ts";
import { subagents } from "./subagents.ts";
import type { TaskWatch } from "./task-watch.ts";
import { workspaceTools } from "./tools/workspace-tools.ts";

export interface AgentOptions {
  runtime: Runtime;
  chosen: ChosenModel;
  cwd: string;
  /** Where the whole of a long output goes. */
  spillDir: string;
  /** What recovery needs of commands. */
  commandDir: string;
  questions: Questions;
  /** Hears what happens in the sessions of tasks. */
  tasks: TaskWatch;
  /** Allow everything without asking. */
  yes: boolean;
  idleMs?: number;
  windowTokens?: number;
}

export function codingAgent(options: AgentOptions): Agent {
  const { runtime, chosen, cwd, spillDir, commandDir, questions, tasks, yes, idleMs, windowTokens } = options;
  const tools = () => workspaceTools({ cwd, spillDir, commandDir });
  const base: Omit<Agent, "tools" | "instructions"> = {
    model: chosen.model,
    ...(chosen.providerOptions ? { providerOptions: chosen.providerOptions } : {}),
    ...(chosen.images ? { images: chosen.images } : {}),
    // A task is asked about call by call.
    permission: ({ effect, tool }) =>
      yes || questions.allAllowed || effect === "read" || tool === "task" ? "allow" : "ask",
    ...(Questions.possible ? { approver: questions.approver } : {}),
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(idleMs === undefined ? {} : { watch: { firstMs: idleMs, silenceMs: idleMs } }),
  };
  const task = taskTool({
    runtime,
    agents: subagents({ cwd, base, tools }),
    watch: (item, child) => tasks.hear(item, child),
  });
  return { ...base, instructions: instructions(cwd), tools: { ...tools(), task } };
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
