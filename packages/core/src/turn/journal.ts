/**
 * The partial journal: what an open attempt has let out, written at intervals, so that a crash loses little of what a
 * person has read. It ends with the attempt.
 */

import { noExposure } from "../attempt/exposure.ts";
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";
import type { MessagePart } from "../log/event.ts";
import type { Exposure } from "../log/value.ts";
import type { Store } from "../store/store.ts";

/** One line of the journal: the next piece of one part. */
interface Line {
  part: string;
  kind: "text" | "reasoning" | "tool-call";
  tool?: string;
  text: string;
}

type Growing = Extract<MessagePart, { type: "text" | "reasoning" | "tool-call" }>;

export class Journal {
  readonly #write: (chunk: string) => void;
  readonly #effects: Effects;
  /** How much of each part is written. */
  readonly #written = new Map<Growing, number>();
  #unwritten = 0;
  #cancel: (() => void) | undefined;

  constructor(store: Store, session: string, epoch: number, attempt: string, effects: Effects) {
    this.#effects = effects;
    // Losing a piece of the journal must not fail the attempt: it is a courtesy to whoever reads after a crash.
    this.#write = (chunk) => void store.writePartial(session, epoch, attempt, chunk).catch(() => {});
  }

  /** A part grew. Costs a comparison; text is taken from the part when it is written. */
  grew(part: MessagePart, chars: number): void {
    if (part.type !== "text" && part.type !== "reasoning" && part.type !== "tool-call") return;
    if (!this.#written.has(part)) this.#written.set(part, 0);
    this.#unwritten += chars;
    if (this.#unwritten >= limit.partialChars) this.#flush();
    else this.#cancel ??= this.#effects.timers.after(limit.partialMs, () => this.#flush());
  }

  /** The attempt is over: its batch drops what was written. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #flush(): void {
    this.stop();
    this.#unwritten = 0;
    const lines: string[] = [];
    for (const [part, from] of this.#written) {
      const all = part.type === "tool-call" ? part.input : part.text;
      if (all.length === from) continue;
      const line: Line = {
        part: part.id,
        kind: part.type,
        ...(part.type === "tool-call" ? { tool: part.tool } : {}),
        text: all.slice(from),
      };
      lines.push(JSON.stringify(line));
      this.#written.set(part, all.length);
    }
    if (lines.length > 0) this.#write(`${lines.join("\n")}\n`);
  }
}

/** The parts and the exposure that a dead driver's journal proves. A torn last line is passed over. */
export function readJournal(chunks: readonly string[]): { parts: MessagePart[]; exposure: Exposure } {
  const parts = new Map<string, Growing>();
  const exposure = noExposure();
  for (const text of chunks.join("").split("\n")) {
    const line = parse(text);
    if (!line) continue;
    const part = parts.get(line.part) ?? emptyPart(line);
    parts.set(line.part, part);
    if (part.type === "tool-call") part.input += line.text;
    else part.text += line.text;
    if (line.kind === "tool-call") exposure.toolInput = true;
    else exposure[line.kind] = true;
  }
  return { parts: [...parts.values()], exposure };
}

function parse(text: string): Line | undefined {
  try {
    return text === "" ? undefined : (JSON.parse(text) as Line);
  } catch {
    return undefined;
  }
}

function emptyPart({ part, kind, tool }: Line): Growing {
  if (kind === "tool-call") return { type: kind, id: part, providerId: part, tool: tool ?? "", input: "", cut: true };
  return { type: kind, id: part, text: "" };
}
