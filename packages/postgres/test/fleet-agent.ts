/**
 * What a worker of the fleet drives with: a model that reads off the request what is left to do, so that whoever takes
 * over goes on with the same, and a tool whose every body leaves a line in a file.
 */
import { appendFileSync } from "node:fs";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type Agent, defineTool } from "@pawl/core";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";

/** Calls of one turn. */
export const actsPerTurn = 4;

/** `pauseMs`: how long an answer and a body take, so that there is a middle in which to die. */
export function fleetAgent(session: string, effects: string, pauseMs: number, told: (what: string) => void): Agent {
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
  const act = defineTool({
    inputSchema: { type: "object" as const },
    execute: async (input) => {
      const { item } = input as { item: string };
      // One write of one line: what was begun is there, whatever happens to the process next.
      appendFileSync(effects, `${session} ${item}\n`);
      told(item);
      await pause();
      return `did ${item}`;
    },
  });
  return { model: countingModel(pause), tools: { act } };
}

function countingModel(pause: () => Promise<void>): LanguageModelV4 {
  return {
    ...scriptedModel([]),
    doStream: async (options) => {
      const parts = nextParts(options);
      await pause();
      // In the middle of a part: words that are begun, and not ended.
      return scriptedModel([[...parts.slice(0, 2), { until: pause() }, ...parts.slice(2)]]).doStream(options);
    },
  };
}

/** The next call of the turn, or its last word. A call counts as done however it ended: nothing is repeated. */
function nextParts({ prompt }: LanguageModelV4CallOptions): LanguageModelV4StreamPart[] {
  const inputs = prompt.filter(({ role }) => role === "user").length;
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const results = prompt.slice(last + 1).filter(({ role }) => role === "tool").length;
  if (results >= actsPerTurn) {
    const rest = { type: "text-delta", id: "1", delta: `${inputs} is done` } as const;
    return [...say("turn ").slice(0, 2), rest, { type: "text-end", id: "1" }, finish()];
  }
  const item = `${inputs}-${results}`;
  return [...call("act", { item }, `call_${item}`), finish("tool-calls")];
}
