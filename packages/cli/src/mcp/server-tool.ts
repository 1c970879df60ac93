/** A tool that a server offers, as it says it, and as the runtime takes it. */
import { cleanText, type Effect, type Tool } from "@pawl/core";
import { wholeTree } from "../tools/workspace.ts";
import type { CallEnd } from "./call-end.ts";
import type { ServerLink } from "./server-link.ts";
import { toolAnswer } from "./tool-answer.ts";
import type { OfferedTool } from "./tool-list.ts";

/** A page on each is enough for a model; what servers say of themselves goes into every request. */
const describedChars = 4_000;
/**
 * What recovery may do after a crash. Only the word of a trusted server counts; where hints contradict each other the worse one does. A
 * tool that may destroy something (which the protocol assumes unless told otherwise) is not run again, idempotent or not: what is there
 * then need not be what was there when the model asked.
 */
export function effectOf({ annotations = {} }: OfferedTool, trusted: boolean): Effect {
  const { readOnlyHint, idempotentHint, destructiveHint } = annotations;
  if (!trusted) return "write";
  if (readOnlyHint === true) return destructiveHint === true ? "write" : "read";
  return idempotentHint === true && destructiveHint === false ? "idempotent" : "write";
}

export function serverTool(link: ServerLink, offered: OfferedTool): Tool<Record<string, unknown>> {
  const { trusted = false, timeoutMs } = link.config;
  const effect = effectOf(offered, trusted);
  const description = cleanText(offered.description ?? "").slice(0, describedChars);
  return {
    description: description === "" ? `The tool ${offered.name} of the MCP server ${link.name}.` : description,
    inputSchema: offered.inputSchema as NonNullable<Tool["inputSchema"]>,
    effect,
    ...(effect === "read" ? { locks: () => [wholeTree] } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async execute(input, { signal, progress }) {
      const end = await link.call(offered.name, input, { signal, progress });
      // The runtime's own words for a deadline and a stop say that a part of the effect may be there.
      if (end.type !== "answered") signal.throwIfAborted();
      if (end.type === "answered") return toolAnswer(end.answer);
      return { content: [{ type: "text", text: words(end, link, effect) }], isError: true };
    },
  };
}

const fates: Record<Effect, string> = {
  read: "This tool only looks: the call may be made again.",
  idempotent: "This call may have taken effect. The tool says that it may be called again with the same input.",
  write:
    "This call may have taken effect in whole, in part or not at all. Do not simply repeat it. First look at what it would have " +
    "changed, then decide.",
};

function words(end: Exclude<CallEnd, { type: "answered" }>, { name }: ServerLink, effect: Effect): string {
  switch (end.type) {
    case "refused":
      return `The MCP server ${name} answered with an error: ${end.why}`;
    case "not-sent":
      return `The MCP server ${name} cannot be reached: ${end.why}. The call was not sent, so it had no effect.`;
    case "unknown": {
      const code = effect === "write" ? "TOOL_OUTCOME_UNKNOWN: " : "";
      return `${code}the MCP server ${name} gave no answer: ${end.why}. ${fates[effect]}`;
    }
  }
}
