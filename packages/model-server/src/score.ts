import type { CallStep, Drop, Fault, Finish, ReasonStep, Step, TextStep, Usage } from "./script.ts";

/**
 * Turns the steps of an entry into beats: the smallest things that can happen on a connection, still without any
 * protocol. Pure and lazy (`repeat` may be endless). It closes what an entry left open: a finish is added when the
 * entry has none, and the terminal frames when nothing ended the response before.
 */

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reason"; readonly text: string; readonly signature?: string; readonly redacted: boolean }
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly text: string;
      readonly id?: string | null;
      readonly index?: number;
      readonly asObject: boolean;
    };

/** `lost`: the server believes it sent this frame; the client never sees it. */
interface Losable {
  readonly lost: boolean;
}

export type FrameBeat =
  | ({ readonly beat: "start"; readonly usage: Usage | null } & Losable)
  | ({ readonly beat: "open"; readonly part: Part } & Losable)
  | ({ readonly beat: "delta"; readonly part: Part; readonly text: string } & Losable)
  /** `sent` is the text as far as it went; `whole` says whether that was all of it. */
  | ({ readonly beat: "close"; readonly part: Part; readonly sent: string; readonly whole: boolean } & Losable)
  /** `explicit`: the script itself asked for this usage. */
  | ({
      readonly beat: "finish";
      readonly finish: Finish;
      readonly usage: Usage | null;
      readonly explicit: boolean;
    } & Losable)
  | { readonly beat: "terminal" }
  | { readonly beat: "error"; readonly fault: Fault; readonly failed: boolean }
  | { readonly beat: "ping" }
  | { readonly beat: "comment"; readonly text: string }
  | { readonly beat: "garbage" };

export type ControlBeat =
  | { readonly beat: "headers" }
  | { readonly beat: "raw"; readonly bytes: Buffer }
  | { readonly beat: "wait"; readonly ms: number }
  | { readonly beat: "hold"; readonly name: string }
  | { readonly beat: "reset" }
  | { readonly beat: "end" }
  | { readonly beat: "silence" };

export type Beat = FrameBeat | ControlBeat;

/** About four characters a token; never zero, since zero reads as "not reported". */
function tokensIn(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4));
}

/** Cuts into n pieces (never inside a character), or exactly at the given offsets (where asked, even inside one). */
export function cut(text: string, chunks: number | readonly number[] | undefined): readonly string[] {
  if (chunks === undefined) return [text];
  if (typeof chunks === "number") {
    const characters = Array.from(text);
    const size = Math.max(1, Math.ceil(characters.length / Math.max(1, chunks)));
    const pieces: string[] = [];
    for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(""));
    return pieces.length === 0 ? [""] : pieces;
  }
  const offsets = [0, ...chunks.filter((offset) => offset > 0 && offset < text.length), text.length];
  return offsets.slice(1).map((end, at) => text.slice(offsets[at], end));
}

function argumentText(step: CallStep): string {
  if (step.input === null) return "";
  return typeof step.input === "string" ? step.input : JSON.stringify(step.input ?? {});
}

function partOf(step: TextStep | ReasonStep | CallStep): { part: Part; deltas: readonly string[] } {
  if ("text" in step) return { part: { kind: "text", text: step.text }, deltas: cut(step.text, step.chunks) };
  if ("reason" in step) {
    const signature = step.signature === undefined ? {} : { signature: step.signature };
    const part: Part = { kind: "reason", text: step.reason, redacted: step.redacted ?? false, ...signature };
    return { part, deltas: part.redacted ? [] : cut(step.reason, step.chunks) };
  }
  const text = argumentText(step);
  const part: Part = {
    kind: "call",
    tool: step.call,
    text,
    asObject: step.asObject ?? false,
    ...(step.id === undefined ? {} : { id: step.id }),
    ...(step.index === undefined ? {} : { index: step.index }),
  };
  return { part, deltas: step.input === null ? [] : cut(text, step.split) };
}

function loses(drop: Drop | undefined, delta: number | undefined): boolean {
  if (drop === undefined || drop === false) return false;
  if (drop === true) return true;
  return delta !== undefined && (typeof drop === "number" ? drop === delta : drop.includes(delta));
}

/** The part that is being sent. */
interface OpenPart {
  readonly part: Part;
  readonly deltas: readonly string[];
  readonly drop: Drop | undefined;
  next: number;
}

class Player {
  #started = false;
  #finished = false;
  #open: OpenPart | undefined;
  #calls = 0;
  #characters = 0;
  #reasoning = 0;
  #usage: Usage | null | undefined;
  readonly #input: number;

  constructor(steps: readonly Step[], requestCharacters: number) {
    this.#input = tokensIn(requestCharacters);
    // Some protocols report the input tokens in their first frame, so the script's usage must be known by then.
    const usage = steps.find((step) => "usage" in step);
    this.#usage = usage === undefined ? undefined : usage.usage;
  }

  *steps(steps: readonly Step[]): Generator<Beat, boolean> {
    for (const step of steps) if (yield* this.#step(step)) return true;
    return false;
  }

  *ending(): Generator<Beat> {
    if (!this.#finished) yield* this.#finish(this.#calls > 0 ? "tool-calls" : "stop", false);
    yield { beat: "terminal" };
  }

  /** Returns whether this step ended the response. */
  *#step(step: Step): Generator<Beat, boolean> {
    if ("text" in step || "reason" in step || "call" in step) {
      yield* this.#begin(step);
    } else if ("more" in step) {
      yield* this.#more(step.more === true ? Number.POSITIVE_INFINITY : step.more);
    } else if ("usage" in step) {
      this.#usage = step.usage;
    } else if ("finish" in step) {
      yield* this.#finish(step.finish, step.drop ?? false);
    } else if ("start" in step) {
      yield* this.#start(step.drop ?? false);
    } else if ("error" in step) {
      yield { beat: "error", fault: step.error, failed: step.failed ?? false };
      if (step.thenContinue === true) return false;
      yield { beat: "end" };
      return true;
    } else if ("repeat" in step) {
      for (let round = 0; round < (step.times ?? Number.POSITIVE_INFINITY); round += 1) {
        if (yield* this.steps(step.repeat)) return true;
      }
    } else if ("ping" in step) {
      yield* this.#start(false);
      yield { beat: "ping" };
    } else {
      return yield* control(step);
    }
    return false;
  }

  *#start(lost: boolean): Generator<Beat> {
    if (this.#started) return;
    this.#started = true;
    yield { beat: "start", usage: this.#resolvedUsage(), lost };
  }

  *#begin(step: TextStep | ReasonStep | CallStep): Generator<Beat> {
    yield* this.#close();
    yield* this.#start(false);
    const { part, deltas } = partOf(step);
    if (part.kind === "call") this.#calls += 1;
    this.#open = { part, deltas, drop: step.drop, next: 0 };
    yield { beat: "open", part, lost: loses(step.drop, undefined) };
    if (step.upTo === undefined) yield* this.#more(Number.POSITIVE_INFINITY);
    else yield* this.#deltas(this.#open, step.upTo);
  }

  *#more(count: number): Generator<Beat> {
    if (this.#open === undefined) return;
    yield* this.#deltas(this.#open, count);
    if (count === Number.POSITIVE_INFINITY) yield* this.#close();
  }

  *#deltas(open: OpenPart, count: number): Generator<Beat> {
    const end = Math.min(open.deltas.length, open.next + count);
    while (open.next < end) {
      const text = open.deltas[open.next] ?? "";
      const lost = loses(open.drop, open.next);
      open.next += 1;
      this.#characters += text.length;
      if (open.part.kind === "reason") this.#reasoning += text.length;
      yield { beat: "delta", part: open.part, text, lost };
    }
  }

  *#close(): Generator<Beat> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const sent = open.deltas.slice(0, open.next).join("");
    const whole = open.next >= open.deltas.length;
    yield { beat: "close", part: open.part, sent, whole, lost: loses(open.drop, undefined) };
  }

  *#finish(finish: Finish, lost: boolean): Generator<Beat> {
    yield* this.#close();
    yield* this.#start(false);
    this.#finished = true;
    yield { beat: "finish", finish, usage: this.#resolvedUsage(), explicit: this.#usage !== undefined, lost };
  }

  #resolvedUsage(): Usage | null {
    if (this.#usage !== undefined) return this.#usage;
    const reasoning = this.#reasoning === 0 ? {} : { reasoning: tokensIn(this.#reasoning) };
    return { input: this.#input, output: tokensIn(this.#characters), ...reasoning };
  }
}

type ControlStep = Extract<
  Step,
  | { headers: true }
  | { comment: string }
  | { garbage: true }
  | { raw: unknown }
  | { wait: number }
  | { hold: string }
  | { reset: true }
  | { end: true }
  | { silence: true }
>;

function* control(step: ControlStep): Generator<Beat, boolean> {
  if ("headers" in step) yield { beat: "headers" };
  else if ("comment" in step) yield { beat: "comment", text: step.comment };
  else if ("garbage" in step) yield { beat: "garbage" };
  else if ("raw" in step) {
    const bytes = typeof step.raw === "string" ? Buffer.from(step.raw) : Buffer.from(step.raw.base64, "base64");
    yield { beat: "raw", bytes };
  } else if ("wait" in step) yield { beat: "wait", ms: step.wait };
  else if ("hold" in step) yield { beat: "hold", name: step.hold };
  else {
    if ("reset" in step) yield { beat: "reset" };
    else if ("end" in step) yield { beat: "end" };
    else yield { beat: "silence" };
    return true;
  }
  return false;
}

/** The beats of one answer. `requestCharacters` is the length of the request body, for the default usage. */
export function* score(steps: readonly Step[], requestCharacters: number): Generator<Beat> {
  const player = new Player(steps, requestCharacters);
  if (yield* player.steps(steps)) return;
  yield* player.ending();
}
