/** `pawl settle`: the turn of a dead process is closed, and nothing runs. */
import { existsSync } from "node:fs";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { openSession, type Runtime, type ToolSet, taskTool } from "@pawl/core";
import { addressOf, calledBy } from "./address.ts";
import { addressNotes, commandLine, lastModel } from "./next-command.ts";
import { storePlaces } from "./place.ts";
import { subagents } from "./subagents.ts";
import { Timeline } from "./timeline.ts";
import { workspaceTools } from "./tools/workspace-tools.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export function settleSession(address: string, options: VisitOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const session = await openSession(runtime, await addressOf(runtime, address));
    const timeline = new Timeline(process.stdout);
    // Calls are named by the message that asked for them: the timeline has to have read it.
    const before = await session.entries();
    const cwd = (await session.summary())?.head.cwd ?? "";
    const tools = toolsOf(cwd, options);
    const turn = session.settle({ model: nobody, tools: { ...tools, task: closing(runtime, cwd, tools) } });
    const added: number[] = [];
    if (!options.json) timeline.know(before);
    for await (const item of turn) {
      if (item.type === "warning") process.stderr.write(`pawl: ${item.text}\n`);
      if (item.type !== "entry") continue;
      added.push(item.entry.seq);
      if (!options.json) timeline.add(item.entry);
    }
    const { turn: closed, outcome } = await turn.result;
    if (options.json) {
      process.stdout.write(`${JSON.stringify({ ok: true, session: session.id, turn: closed, outcome, added })}\n`);
      return 0;
    }
    const called = await calledBy(runtime, address, session.id);
    const model = lastModel(before);
    const command = commandLine(
      ["continue", called],
      [
        ["--model", model],
        ["--store", options.store],
      ],
    );
    process.stderr.write(`${[`To go on: ${command}`, ...addressNotes(model)].join("\n")}\n`);
    return 0;
  });
}

/** What looks for the results of calls that were running. A folder that is gone tells nothing. */
function toolsOf(cwd: string, { store }: VisitOptions): ToolSet {
  if (!existsSync(cwd)) return {};
  const { spill, commands } = storePlaces(store);
  return workspaceTools({ cwd, spillDir: spill, commandDir: commands });
}

/** A task that was under way is closed with its parent: none is left open behind a result. */
function closing(runtime: Runtime, cwd: string, tools: ToolSet) {
  return taskTool({
    runtime,
    agents: subagents({ cwd, base: { model: nobody }, tools: () => tools, notes: [] }),
  });
}

/** No request is made where nothing runs. */
const nobody: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "none",
  modelId: "none",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("a turn that is closed asks no model")),
  doStream: () => Promise.reject(new Error("a turn that is closed asks no model")),
};
