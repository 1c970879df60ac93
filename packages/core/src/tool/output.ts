/**
 * From what a body said in whole to what the model is told: one cap, one cleaning, for every tool.
 *
 * Owns: caps, cleaning, where the rest goes. Does not own: how the results of one message share what there is
 * (allowance). Invariants:
 * 1. What is told is within the cap, well-formed, and text, data or the name of a file: never bytes.
 * 2. What is left out is kept beside the log as far as it can be, and the result names it.
 */
import { limit } from "../limit.ts";
import type { Json, Part, ToolOutput } from "../log/event.ts";
import { anyBytes, isBinary } from "./bytes.ts";
import type { WholeOutput, WholePart } from "./returned.ts";

/** Keeps bytes beside the log; gives their blob. */
export type KeepBytes = (bytes: Uint8Array) => Promise<string>;

export interface Telling {
  /** What the parts that are kept are named after. */
  call: string;
  keep: KeepBytes;
  /** Of so many characters, how many may be told. Asked once, when all are known. */
  grant(chars: number): number;
  /** Of so many images, how many may be shown. */
  show(images: number): number;
}

/** NUL and other control characters break parsers downstream; tab, line feed and carriage return are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Well-formed Unicode without control characters. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(controls, "\ufffd");
}

/** Cuts on a code point boundary, keeps head and tail, and says what is missing. */
export function capText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = text.slice(0, Math.floor(chars * 0.7));
  const tail = text.slice(text.length - (chars - head.length));
  const cut = `\n[... ${text.length - chars} of ${text.length} characters left out ...]\n`;
  return whole(head) + cut + whole(tail);
}

/** Without the half of a pair that a cut left at either end. */
function whole(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

/**
 * Grants and caps are settled before anything is waited for: calls that settle together never take the same share. Where
 * nothing is to be kept, nothing is waited for: results settle in the order in which bodies end.
 */
export function tell({ parts, isError, code }: WholeOutput, telling: Telling): ToolOutput | Promise<ToolOutput> {
  const clean = parts.map(cleaned);
  const texts = clean.map(textOf);
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  let left = telling.grant(chars);
  const cut = left < chars;
  let images = telling.show(clean.filter(isShowable).length);
  const told = clean.map((part, at): Promise<Part> | Part => {
    if (part.type === "bytes") return bytesPart(part, at, isShowable(part) && images-- > 0, telling);
    if (isImage(part) && images-- <= 0)
      return imageNote(part.blob ?? part.url ?? "", part.mediaType, "too many images");
    const text = texts[at] ?? "";
    const short = capText(text, left);
    left = Math.max(0, left - text.length);
    // What is cut is no JSON and no address any more.
    return short === text ? part : { type: "text", text: short };
  });
  const rest = { isError, ...(code === undefined ? {} : { code }) };
  if (!cut && told.every(isThere)) return { content: told, ...rest };
  const spilled = cut ? [spill(texts, telling)] : [];
  return Promise.all([...told, ...spilled]).then((content) => ({ content: content.flat(), ...rest }));
}

function isThere(part: Part | Promise<Part>): part is Part {
  return !(part instanceof Promise);
}

/** The whole text beside the log, and its name. Where it cannot be kept, the result is what it is. */
async function spill(texts: readonly string[], { call, keep }: Telling): Promise<Part[]> {
  const bytes = new TextEncoder().encode(texts.filter((text) => text !== "").join("\n"));
  const kept = bytes.subarray(0, limit.spillBytes);
  const filename = `output-${call}.txt`;
  try {
    const blob = await keep(kept);
    const size = kept.length < bytes.length ? `The first ${kept.length} bytes` : "The whole";
    const text = `[${size} of this output is kept as ${filename}, for people to look at. Ask for less at a time.]`;
    return [
      { type: "text", text },
      { type: "file", mediaType: "text/plain", filename, blob },
    ];
  } catch {
    return [];
  }
}

type BytesPart = Extract<WholePart, { type: "bytes" }>;
type ImagePart = Extract<Part, { type: "file" }>;

function isImage(part: WholePart): part is ImagePart {
  return part.type === "file" && part.mediaType.startsWith("image/");
}

function isShowable(part: WholePart): boolean {
  if (part.type !== "bytes") return isImage(part);
  return part.mediaType.startsWith("image/") && part.bytes.byteLength <= limit.imageBytes;
}

async function bytesPart(part: BytesPart, at: number, shown: boolean, { call, keep }: Telling): Promise<Part> {
  const { bytes, mediaType, filename = `output-${call}-${at + 1}` } = part;
  const size = bytes.byteLength;
  if (size > limit.blobBytes) return { type: "text", text: `[${mediaType}, ${size} bytes: too large to be kept]` };
  let blob: string;
  try {
    blob = await keep(bytes);
  } catch {
    // The body has run: a result that tells less is better than one that says it failed.
    return { type: "text", text: `[${mediaType}, ${size} bytes: could not be kept]` };
  }
  if (!mediaType.startsWith("image/") || shown) return { type: "file", mediaType, filename, blob };
  const why = size > limit.imageBytes ? `${size} bytes, at most ${limit.imageBytes} are shown` : "too many images";
  return imageNote(blob, mediaType, why);
}

function imageNote(place: string, mediaType: string, why: string): Part {
  return { type: "text", text: `[${mediaType} not shown: ${why}; kept as ${capText(place, 100)}]` };
}

function cleaned(part: WholePart): WholePart {
  switch (part.type) {
    case "text":
      if (!isBinary(part.text)) return { type: "text", text: cleanText(part.text) };
      return { type: "bytes", mediaType: anyBytes, bytes: new TextEncoder().encode(part.text) };
    case "data":
      return { type: "data", data: cleanJson(part.data) };
    case "file":
      return cleanFile(part);
    case "bytes":
      return part;
  }
}

/** Only what we know of it, and no name longer than a disk would take: a result must fit into its record. */
function cleanFile({ mediaType, filename, blob, url }: Extract<Part, { type: "file" }>): Part {
  return {
    type: "file",
    mediaType: capText(cleanText(mediaType), 255),
    ...(filename === undefined ? {} : { filename: capText(cleanText(filename), 255) }),
    ...(blob === undefined ? {} : { blob }),
    ...(url === undefined ? {} : { url }),
  };
}

/** JSON hides lone surrogates and NUL in escapes; whoever parses it downstream meets them all the same. */
function cleanJson(value: Json): Json {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner ?? null)]));
}

/** What a part brings into context. A file's bytes are elsewhere, unless its address holds them. */
function textOf(part: WholePart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "data":
      return JSON.stringify(part.data);
    case "file":
      return part.url ?? "";
    case "bytes":
      return "";
  }
}

/** Characters that a recorded result brings into context. */
export function charsOf({ content }: ToolOutput): number {
  return content.reduce((sum, part) => sum + textOf(part).length, 0);
}

/** The message of whatever was thrown, fit for the model: `throw undefined` happens. */
export function thrownText(error: unknown): string {
  if (error === undefined || error === null) return "";
  let text: string;
  try {
    text = String(error instanceof Error ? error.message || error.name : error);
  } catch {
    // An object without a prototype, or with a `toString` of its own that throws.
    text = "something that has no text was thrown";
  }
  return capText(cleanText(text), 4_000);
}
