import { parseEntry } from "./grammar.ts";
import { type History, historyOf } from "./history.ts";
import type { RecordedRequest } from "./record.ts";
import type { Entry, PlayedEntry, Script, ScriptObject, StatusEntry, When } from "./script.ts";

/** A script as a function, for TypeScript users: `index` counts the requests that reached it, from 0. */
export type ScriptFunction = (request: RecordedRequest, index: number) => Entry;

export function entryOf(entry: Entry): PlayedEntry | StatusEntry {
  return "status" in entry || "steps" in entry ? entry : { steps: entry };
}

function fits(when: When, history: History): boolean {
  const { lastUserIncludes, hasToolResult } = when;
  if (lastUserIncludes !== undefined && !history.lastUser.includes(lastUserIncludes)) return false;
  return (
    hasToolResult === undefined ||
    history.results.some((result) => result.tool === hasToolResult || result.callId === hasToolResult)
  );
}

function isObject(script: Script): script is ScriptObject {
  return !Array.isArray(script);
}

/** Owns the position in the script. Entries with `when` come first, in order; the others are used one by one. */
export class Prompter {
  readonly #script: ScriptFunction | ScriptObject;
  #left: readonly (PlayedEntry | StatusEntry)[] = [];
  #index = 0;

  constructor(script: Script | ScriptFunction) {
    if (typeof script === "function" || isObject(script)) this.#script = script;
    else this.#script = { entries: script };
    this.#refill();
  }

  /** undefined when the script is used up. */
  next(request: RecordedRequest): PlayedEntry | StatusEntry | undefined {
    const index = this.#index;
    this.#index += 1;
    if (typeof this.#script === "function") return entryOf(parseEntry(this.#script(request, index)));
    const found = this.#take(request);
    if (found !== undefined) return found;
    if (this.#script.loop === true) this.#refill();
    return this.#take(request) ?? (this.#script.fallback === undefined ? undefined : entryOf(this.#script.fallback));
  }

  #refill(): void {
    if (typeof this.#script !== "function") this.#left = this.#script.entries.map(entryOf);
  }

  #take(request: RecordedRequest): PlayedEntry | StatusEntry | undefined {
    const history = historyOf(request.protocol, request.parsed);
    const conditional = this.#left.find(({ when }) => when !== undefined && fits(when, history));
    const found = conditional ?? this.#left.find(({ when }) => when === undefined);
    if (found?.when?.keep !== true) this.#left = this.#left.filter((entry) => entry !== found);
    return found;
  }
}
