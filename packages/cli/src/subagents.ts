/** Whom the coding agent may give a task to: one that only looks, one that does everything but give tasks. */
import type { Agent, Subagent, ToolSet } from "@pawl/core";

export interface SubagentParts {
  cwd: string;
  /** What they share with the agent that calls them: the model, the rules, who is asked. */
  base: Omit<Agent, "tools" | "instructions">;
  /** A set of tools of their own: what one agent has read is nothing that another knows. */
  tools(): ToolSet;
  /** What both are told besides: the mode, and what people have written for the model. */
  notes: readonly string[];
}

/** They look at the workspace and change nothing. */
const looking = ["read", "ls", "glob", "grep", "fetch"];

export function subagents({ cwd, base, tools, notes }: SubagentParts): { [name: string]: Subagent } {
  const all = tools();
  const readers = Object.fromEntries(looking.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
  return {
    explore: {
      description:
        "looks around in the workspace and answers a question about it; changes nothing. Several may run at once.",
      agent: {
        ...base,
        tools: readers,
        instructions: instructions(cwd, "You only look: you have no tools that change anything.", notes),
      },
      workspace: "reads",
    },
    general: {
      description: "does a piece of work of its own, with every tool: edits files, runs commands, checks.",
      agent: {
        ...base,
        tools: tools(),
        instructions: instructions(cwd, "Make the smallest change that does what was asked, and check it.", notes),
      },
      workspace: "writes",
    },
  };
}

function instructions(cwd: string, how: string, notes: readonly string[]): string {
  return [
    "You work on one task that another agent gives you, in one folder, with the tools you are given. You cannot ask it anything.",
    `The folder is ${cwd}. Paths are relative to it.`,
    how,
    "Your last message is all that is handed back: answer what was asked, with file names and line numbers where they help.",
    ...notes.filter((text) => text !== ""),
  ].join("\n");
}
