/**
 * The laws of the derived request: it is always paired (L1), and its prefix keeps its bytes (L10). Checked at every
 * request that the log shows, at the cost of what is new since the one before.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { LogEntry } from "../log/envelope.ts";
import type { LogEvent } from "../log/event.ts";
import { reachOf } from "../log/reach.ts";
import type { Law, LawRun } from "../log/verify.ts";
import { contextFold, promptOf } from "./projection.ts";
import type { ContextState } from "./state.ts";
import { type Target, targetKey, targetOf } from "./target.ts";

/** A target that the log has named, and what it is told. Kept, so that going to and fro between two costs no refold. */
interface Told {
  target: Target;
  state: ContextState;
}

/** The prompt of a request for a step's message. */
interface Request {
  prompt: LanguageModelV4Prompt;
  /** A recorded change lies between it and the one before. */
  changed: boolean;
}

/** The requests that a log shows: runs the context fold of the target in force. */
class Requests {
  readonly #all = new Map<string, Told>();
  #past: LogEntry[] = [];
  #told: Told | undefined;
  #changed = false;
  #taken = 0;
  #request: Request | undefined;

  /** The request that begins with `entry`, the `number`th of the log: the next one, or for whoever asks later the last. */
  at(number: number, entry: LogEntry): Request | undefined {
    if (number === this.#taken) return this.#request;
    this.#taken = number;
    this.#step(entry);
    const { event } = entry;
    this.#request = undefined;
    if (!this.#told || event.type !== "attempt.started" || event.purpose !== "step") return undefined;
    this.#request = { prompt: promptOf(this.#told.state, undefined), changed: this.#changed };
    this.#changed = false;
    return this.#request;
  }

  #step(entry: LogEntry): void {
    const { event } = entry;
    for (const each of this.#all.values()) each.state = contextFold(each.target).step(each.state, entry);
    this.#past.push(entry);
    if (event.type === "context.compacted" && event.by !== "prune")
      this.#past = this.#past.filter(outlives(reachOf(event, entry.seq)));
    if (this.#told && changes(event, this.#told.target)) this.#changed = true;
    if (event.type !== "step.started" || !event.header) return;
    const target = targetOf(event.header);
    const key = targetKey(target);
    const fold = contextFold(target);
    const now = this.#all.get(key) ?? { target, state: this.#past.reduce(fold.step, fold.init()) };
    this.#all.set(key, now);
    this.#changed ||= now !== this.#told;
    this.#told = now;
  }
}

/** Calls `look` with each request. The fold is most of what these laws cost: those of one run share it. */
function atRequests(run: LawRun, look: (request: Request) => string[]): (entry: LogEntry) => string[] {
  const shared = run.get("requests");
  const requests = shared instanceof Requests ? shared : new Requests();
  run.set("requests", requests);
  let number = 0;
  return (entry) => {
    number += 1;
    const request = requests.at(number, entry);
    return request ? look(request) : [];
  };
}

/** A context that is loaded from a cut on is the same, but for what was refused before. */
function outlives(upTo: number): (entry: LogEntry) => boolean {
  return ({ seq, event }) => seq > upTo || event.type === "provider-state.stripped";
}

/** Whether what is recorded changes what was already sent to this target. */
function changes(event: LogEvent, { provider, reasoning }: Target): boolean {
  switch (event.type) {
    case "context.compacted":
      return true;
    case "provider-state.stripped":
      return event.provider === provider;
    case "turn.started":
      return reasoning === "turn";
    default:
      return false;
  }
}

export const pairing: Law = {
  law: "L1",
  title: "pairing: every call in a request has exactly one result, directly after it, in call order",
  start(run = new Map()) {
    let checked = 0;
    return atRequests(run, ({ prompt, changed }) => {
      if (changed) checked = 0;
      // The last message may still be the open one: it is looked at again.
      const from = Math.max(0, checked - 3);
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
  start(run = new Map()) {
    let before: readonly LanguageModelV4Message[] = [];
    let texts: string[] = [];
    return atRequests(run, ({ prompt, changed }) => {
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
