/**
 * What a kept conversation says, whoever has kept it: the one form between foreign messages and our log.
 *
 * Owns: the form, and how a translator refuses. Does not own: what becomes of it (chronicle).
 */
import { PawlError } from "../error.ts";
import type { Json, MessagePart, ProviderMeta } from "../log/event.ts";
import type { WholeOutput, WholePart } from "../tool/returned.ts";
import { type Fields, shown } from "./repair-list.ts";

export type ForeignFormat = "ai-sdk" | "openai-chat" | "anthropic";
export const foreignFormats: readonly ForeignFormat[] = ["ai-sdk", "openai-chat", "anthropic"];

/** A part of an answer before it has an id of ours. */
export type SaidPart = MessagePart extends infer P ? (P extends { id: string } ? Omit<P, "id"> : never) : never;

export type Heard =
  | { kind: "instructions"; text: string }
  | { kind: "input"; content: WholePart[] }
  /** `sealed`: its opaque state is not in the form that a provider package would hand back, and stays here. */
  | { kind: "answer"; parts: SaidPart[]; sealed?: boolean }
  /** In order. `id` is the call's, as the one who kept it names it. */
  | { kind: "results"; results: { id: string; output: WholeOutput }[] };

/** One message of a format. Throws INVALID_INPUT, without the place, for what is none. */
export type Translator = (message: Fields) => Heard[];

/** What is wrong with a message, with the value seen. */
export function wrong(what: string, value?: unknown): PawlError {
  return new PawlError("INVALID_INPUT", value === undefined ? what : `${what}, is ${shown(value)}`);
}

export function textField(fields: Fields, name: string, of: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw wrong(`${of}.${name} must be a string`, value ?? null);
  return value;
}

export function listField(fields: Fields, name: string, of: string): readonly unknown[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw wrong(`${of}.${name} must be a list`, value ?? null);
  return value;
}

/** The text of a value; what JSON cannot carry is refused. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    throw wrong("a value is no JSON, or is nested too deep");
  }
}

export function metaOf(state: unknown): { meta?: ProviderMeta } {
  if (typeof state !== "object" || state === null || Object.keys(state).length === 0) return {};
  return { meta: JSON.parse(jsonText(state)) as ProviderMeta };
}

export function jsonOf(value: unknown): Json {
  return JSON.parse(jsonText(value) || "null") as Json;
}

/** A file by its address; one that holds the bytes themselves is bytes. */
export function filePart(address: string, mediaType: string, filename?: unknown): WholePart {
  const named = typeof filename === "string" ? { filename } : {};
  const [, type, data] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(address) ?? [];
  if (data !== undefined) return bytesPart(data, type || mediaType, filename);
  return { type: "file", mediaType, url: address, ...named };
}

export function bytesPart(base64: string, mediaType: string, filename?: unknown): WholePart {
  const named = typeof filename === "string" ? { filename } : {};
  return { type: "bytes", mediaType, bytes: new Uint8Array(Buffer.from(base64, "base64")), ...named };
}
