/**
 * The partial journal: what an open attempt has let out, written at intervals, so that a crash loses little of what a
 * person has read. It ends with the attempt.
 *
 * Invariant: one write is under way at most, and what comes meanwhile shares the next. A store that is slow, or does not answer,
 * has no queue of pieces before it that the end of the attempt would have to wait for.
 */

import { noExposure } from "../attempt/exposure.ts";
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";
import type { MessagePart } from "../log/event.ts";
import type { Exposure } from "../log/value.ts";
import type { Partial, Store } from "../store/store.ts";

/** One line of the journal: the next piece of one part. */
export interface Line {
  part: string;
  kind: "text" | "reasoning" | "tool-call";
  tool?: string;
  /** The provider runs this call: a fact that forbids a replay. */
  provider?: true;
  text: string;
  /**
   * Where in its part the piece begins, in UTF-16 units: a write may be lost while later ones are not, and words behind a gap
   * are not what was said. Absent in journals of older drivers.
   */
  at?: number;
  /** The part is whole. */
  ended?: true;
}

/** What a journal proves of an attempt whose driver died. */
export interface Proven {
  parts: MessagePart[];
  exposure: Exposure;
}

type Growing = Extract<MessagePart, { type: "text" | "reasoning" | "tool-call" }>;

export class Journal {
  readonly #write: (chunk: string) => Promise<void>;
  readonly #effects: Effects;
  /** Lines that wait, and the pieces of the part that grows, which are not a line yet. */
  #lines = "";
  #growing: Growing | undefined;
  #pieces: string[] = [];
  #unwritten = 0;
  readonly #provider = new WeakSet<MessagePart>();
  /** How much of each part stands in lines. */
  readonly #lengths = new WeakMap<MessagePart, number>();
  #cancel: (() => void) | undefined;
  #writing = false;
  /** Something is due as soon as the write under way has ended. */
  #due = false;
  #stopped = false;
  /** Whether the store was given anything: else there is nothing to drop. */
  begun = false;

  constructor(store: Store, session: string, epoch: number, attempt: string, effects: Effects) {
    this.#effects = effects;
    // Losing a piece of the journal must not fail the attempt: it is a courtesy to whoever reads after a crash.
    const write = (chunk: string) => store.writePartial(session, epoch, attempt, chunk).catch(() => {});
    // Not in one statement: the engine takes a function written as the value of a property for one that stays, and lets what
    // it sees (here the store, and through it all else) live until the collector has gone through everything.
    this.#write = write;
  }

  /** A call that the provider runs is written at once: a crash must not make it look repeatable. */
  started(part: MessagePart): void {
    if (part.type !== "tool-call" || !part.providerExecuted || this.#provider.has(part)) return;
    this.#provider.add(part);
    this.#closeLine();
    this.#line(part, "");
    this.#flush();
  }

  /** Only now some packages say who runs a call. Of a part that never grew nobody has heard. */
  ended(part: MessagePart): void {
    this.started(part);
    if (part !== this.#growing && !this.#lengths.has(part)) return;
    if (!this.#turnTo(part)) return;
    this.#closeLine("ended");
    this.#schedule();
  }

  /** A part grew by a piece. Pieces are joined when they are written: slices of a growing text would cost its square. */
  grew(part: MessagePart, piece: string): void {
    if (part !== this.#growing && !this.#turnTo(part)) return;
    this.#pieces.push(piece);
    this.#unwritten += piece.length;
    if (this.#unwritten >= limit.partialChars) this.#flush();
    else this.#schedule();
  }

  /** The attempt is over: its batch drops what was written. */
  stop(): void {
    this.#stopped = true;
    this.#rest();
  }

  #rest(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #turnTo(part: MessagePart): boolean {
    if (part.type !== "text" && part.type !== "reasoning" && part.type !== "tool-call") return false;
    if (part === this.#growing) return true;
    this.#closeLine();
    this.#growing = part;
    return true;
  }

  #closeLine(ended?: "ended"): void {
    if (this.#growing && (ended || this.#pieces.length > 0)) this.#line(this.#growing, this.#pieces.join(""), ended);
    this.#growing = undefined;
    this.#pieces = [];
  }

  #line(part: Growing, text: string, ended?: "ended"): void {
    const at = this.#lengths.get(part) ?? 0;
    this.#lengths.set(part, at + text.length);
    this.#lines += lineOf(part, text, at, ended);
  }

  #schedule(): void {
    this.#cancel ??= this.#effects.timers.after(limit.partialMs, () => this.#flush());
  }

  #flush(): void {
    this.#rest();
    this.#due = this.#writing;
    if (this.#writing) return;
    this.#closeLine();
    this.#unwritten = 0;
    if (this.#lines === "") return;
    const lines = this.#lines;
    this.#lines = "";
    this.#writing = true;
    this.begun = true;
    void this.#write(lines).then(() => {
      this.#writing = false;
      if (this.#due && !this.#stopped) this.#flush();
    });
  }
}

function lineOf(part: Growing, text: string, at: number, ended: "ended" | undefined): string {
  const call =
    part.type === "tool-call" ? { tool: part.tool, ...(part.providerExecuted ? { provider: true as const } : {}) } : {};
  const line: Line = { part: part.id, kind: part.type, ...call, text, at, ...(ended ? { ended: true as const } : {}) };
  return `${JSON.stringify(line)}\n`;
}

/** Of the journal that a store has, what it proves of `attempt`. A torn last line is passed over. */
export function readJournal(journal: Partial | undefined, attempt: string): Proven {
  const parts = new Map<string, Growing>();
  const exposure = noExposure();
  const chunks = journal?.attempt === attempt ? journal.chunks : [];
  for (const line of linesOf(chunks.join(""))) {
    const part = parts.get(line.part) ?? emptyPart(line);
    parts.set(line.part, part);
    if (part.type === "tool-call") part.input += nextOf(line, part.input.length);
    else part.text += nextOf(line, part.text.length);
    if (line.kind === "tool-call") exposure.toolInput = true;
    else exposure[line.kind] = true;
    if (line.provider) exposure.providerWrite = true;
  }
  return { parts: [...parts.values()], exposure };
}

/** The lines that can be read. */
export function linesOf(text: string): Line[] {
  return text.split("\n").flatMap((line) => parse(line) ?? []);
}

/** What a line adds to `length` units of its part that are known: behind a gap nothing, of what is known only the rest. */
export function nextOf({ text, at }: Line, length: number): string {
  if (at === undefined || at === length) return text;
  return at < length ? text.slice(length - at) : "";
}

function parse(text: string): Line | undefined {
  if (text === "") return undefined;
  try {
    const line = JSON.parse(text) as Line;
    return typeof line.part === "string" && typeof line.text === "string" && isKind(line.kind) ? line : undefined;
  } catch {
    return undefined;
  }
}

function isKind(kind: unknown): boolean {
  return kind === "text" || kind === "reasoning" || kind === "tool-call";
}

function emptyPart({ part, kind, tool, provider }: Line): Growing {
  if (kind === "tool-call") {
    const executed = provider ? { providerExecuted: true } : {};
    return { type: kind, id: part, providerId: part, tool: tool ?? "", input: "", cut: true, ...executed };
  }
  return { type: kind, id: part, text: "" };
}
