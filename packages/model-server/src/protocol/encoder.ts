import type { Issued, Item } from "../issued.ts";
import type { FrameBeat } from "../score.ts";

/** Turns beats into the bytes of one protocol, and keeps the whole answer for a request that does not stream. */
export interface Encoder {
  /** The frames of a beat, in order, as text for the wire. */
  frames(beat: FrameBeat): readonly string[];
  /** The answer so far as the body of a non-streaming response. */
  body(): unknown;
}

/** What an encoder knows about the request it answers. */
export interface Reply {
  readonly model: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** The request's conversation with references resolved (responses only): what a stored response goes on from. */
  readonly input: readonly Item[];
  /** A fresh id of this kind (`call`, `msg`). */
  readonly newId: (kind: string) => string;
  readonly issued: Issued;
}

/**
 * Ids count up per kind and server, so that a script gives the same bytes each time. One that the request mentions is
 * passed over: a history may come from an earlier server, and no endpoint issues an id twice.
 */
export class Ids {
  readonly #counts = new Map<string, number>();

  next(kind: string, request = ""): string {
    let id: string;
    do {
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      id = `${kind}_${count}`;
    } while (request.includes(`"${id}"`));
    return id;
  }
}

/** A fixed moment (2026-01-01): answers must not depend on the clock. */
export const CREATED_S = 1_767_225_600;

/** What an OpenAI endpoint says when it declines. */
export const REFUSAL = "I'm sorry, but I can't help with that.";

/** The data of a malformed frame: what is left of one when its end is lost. */
export const GARBAGE = '{"broken":';

export function dataFrame(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

export function eventFrame(event: string, data: unknown): string {
  return `event: ${event}\n${dataFrame(data)}`;
}

export function commentFrame(text: string): string {
  return `: ${text.replaceAll("\n", "\n: ")}\n\n`;
}

/** Arguments as an object, or as they are when they are no JSON object. */
export function decodedArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}
