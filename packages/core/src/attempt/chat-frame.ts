/**
 * Mends tool calls in chat completion frames, before a provider package loses or refuses them.
 *
 * What the package handles itself (missing and blank ids, repeated ids at different indexes, a new name at a used index)
 * is left to it. Mended here: a new id at a used index opens a call of its own; arguments as an object become their
 * text; ids as numbers, indexes as text and a missing `function` get their types; a call without a name keeps a place;
 * calls in a `message` where a `delta` belongs are moved there.
 */
import { read, readString } from "./chain.ts";
import { parsed } from "./frame.ts";

/** What a call without any name is called: it is answered like every unknown tool, not lost. */
const unnamed = "unnamed_tool";

interface OpenCall {
  id: string | undefined;
  /** The index we give it: never used by another call. */
  index: number;
  input: string;
}

type Loose = Record<string, unknown>;

export class CallMender {
  /** The last call at each index of the wire. */
  readonly #open = new Map<unknown, OpenCall>();
  #next = 0;

  /** Mends the frame in place; says whether anything changed. */
  mend(frame: unknown): boolean {
    const choices = read(frame, "choices");
    const choice = Array.isArray(choices) ? (choices[0] as Loose | undefined) : undefined;
    if (!choice || typeof choice !== "object") return false;
    let changed = false;
    if (choice["delta"] === undefined && Array.isArray(read(choice["message"], "tool_calls"))) {
      choice["delta"] = choice["message"];
      changed = true;
    }
    const calls = read(choice["delta"], "tool_calls");
    if (!Array.isArray(calls)) return changed;
    for (const call of calls)
      if (typeof call === "object" && call !== null) changed = this.#call(call as Loose) || changed;
    return changed;
  }

  #call(call: Loose): boolean {
    const before = JSON.stringify(call);
    if (typeof call["id"] === "number") call["id"] = String(call["id"]);
    if (typeof call["index"] === "string" && /^\d+$/.test(call["index"])) call["index"] = Number(call["index"]);
    if (typeof call["function"] !== "object" || call["function"] === null) call["function"] = {};
    const target = call["function"] as Loose;
    const input = target["arguments"];
    // Canonical text: what a tool gets is the same, however the server wrote it.
    if (typeof input === "object" && input !== null) target["arguments"] = JSON.stringify(input);
    this.#place(call, target);
    return JSON.stringify(call) !== before;
  }

  #place(call: Loose, target: Loose): void {
    const key = call["index"] ?? "none";
    const id = nonBlank(readString(call, "id"));
    const name = nonBlank(readString(target, "name"));
    const input = readString(target, "arguments") ?? "";
    let open = this.#open.get(key);
    if (!open || opensAnother(open, id, name, input)) {
      // The package drops a call that begins with a blank name; one whose name is only late it waits for.
      if (!name && typeof target["name"] === "string") target["name"] = unnamed;
      open = { id, index: this.#next, input: "" };
      this.#next += 1;
      this.#open.set(key, open);
    }
    open.input += input;
    // Without an index the package goes by ids and names alone, which is right where there is none to reuse.
    if (typeof call["index"] === "number") call["index"] = open.index;
  }
}

/**
 * A repeat of the same id goes on with its call; a new one opens another, unless the open call's arguments are not whole
 * yet: some servers give every piece an id of its own.
 */
function opensAnother(open: OpenCall, id: string | undefined, name: string | undefined, input: string): boolean {
  if (id !== undefined && id === open.id) return false;
  if (name === undefined) return false;
  const closed = open.input.trim() === "" || parsed(open.input) !== undefined;
  if (id !== undefined) return closed;
  // No id at all: a name of its own with fresh arguments, after arguments that are whole.
  return open.input.trim() !== "" && closed && (input.trim() === "" || /^\s*[{[]/.test(input));
}

function nonBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text;
}
