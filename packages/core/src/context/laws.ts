/**
 * The laws of the derived request: it is always paired (L1), and its prefix keeps its bytes (L10). Checked at every
 * request that the log shows, at the cost of what is new since the one before.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { LogEntry } from "../log/envelope.ts";
import type { ModelRef } from "../log/value.ts";
import type { Law } from "../log/verify.ts";
import { type ContextState, contextFold, promptOf } from "./projection.ts";

/** Runs the context fold of the model in force and calls `look` with the prompt of each request. */
function atRequests(
  look: (prompt: LanguageModelV4Prompt, model: ModelRef, changed: boolean) => string[],
): (entry: LogEntry) => string[] {
  const past: LogEntry[] = [];
  let model: ModelRef | undefined;
  let state: ContextState | undefined;
  return (entry) => {
    const { event } = entry;
    let changed = false;
    if (event.type === "step.started" && event.header) {
      model = event.header.model;
      const fold = contextFold({ provider: model.provider, model: model.id });
      state = past.reduce(fold.step, fold.init());
      changed = true;
    }
    past.push(entry);
    if (!model || !state) return [];
    state = contextFold({ provider: model.provider, model: model.id }).step(state, entry);
    return event.type === "attempt.started" || changed ? look(promptOf(state, undefined), model, changed) : [];
  };
}

export const pairing: Law = {
  law: "L1",
  title: "pairing: every call in a request has exactly one result, directly after it, in call order",
  start() {
    let checked = 0;
    return atRequests((prompt, _, changed) => {
      if (changed) checked = 0;
      // The last message may still be the open one: it is looked at again.
      const from = Math.max(0, checked - 2);
      checked = prompt.length;
      return unpaired(prompt, from);
    });
  },
};

/** What breaks the pairing of a prompt, from the message `from` on. */
export function unpaired(prompt: readonly LanguageModelV4Message[], from = 0): string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (let at = from; at < prompt.length; at++) {
    const message = prompt[at];
    if (message?.role === "tool" && prompt[at - 1]?.role !== "assistant")
      wrong.push(`message ${at}: results without a call before them`);
    if (message?.role !== "assistant") continue;
    const calls = message.content.flatMap((part) =>
      part.type === "tool-call" && !part.providerExecuted ? [part.toolCallId] : [],
    );
    for (const id of calls) {
      if (seen.has(id)) wrong.push(`message ${at}: call id ${id} appears twice`);
      seen.add(id);
    }
    const next = prompt[at + 1];
    const results =
      next?.role === "tool"
        ? next.content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []))
        : [];
    if (calls.join("\n") !== results.join("\n")) {
      wrong.push(`message ${at}: calls [${calls.join(", ")}] are answered by [${results.join(", ")}]`);
    }
  }
  return wrong;
}

export const stablePrefix: Law = {
  law: "L10",
  title: "replayable: each request begins with the bytes of the one before, but for recorded changes",
  start() {
    let before: readonly LanguageModelV4Message[] = [];
    let texts: string[] = [];
    return atRequests((prompt, _, changed) => {
      if (changed) texts = [];
      const wrong: string[] = [];
      for (let at = 0; at < texts.length; at++) {
        // Same object, same bytes: state only appends. Anything else is compared by its text.
        if (prompt[at] !== before[at] && JSON.stringify(prompt[at]) !== texts[at])
          wrong.push(`message ${at} has changed since the request before`);
      }
      for (let at = texts.length; at < prompt.length; at++) texts.push(JSON.stringify(prompt[at]));
      before = prompt;
      return wrong;
    });
  },
};
