/**
 * The messages of a file: one a line, or one JSON document over all of its lines.
 *
 * Owns: telling the two apart, and where a message stands. Does not own: what a message is. Lines are read as they come; a
 * document has to be there whole.
 */
import { PawlError } from "../error.ts";
import { isFields, shown } from "./repair-list.ts";

/** A message, where it stands, and what the document around it says of the model. */
export interface Placed {
  value: unknown;
  place: string;
  model?: string;
}

/** A document is parsed at once, at several times its size in memory; lines have no such bound. */
const documentChars = 200_000_000;

export async function* placedLines(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Placed, void> {
  const numbered = nonBlank(lines);
  const first = await numbered.next();
  if (first.done) return;
  const value = parsed(first.value.text);
  if (value === undefined) {
    yield* messagesOf(await wholeOf(first.value, numbered));
  } else if (Array.isArray(value) || (isFields(value) && Array.isArray(value["messages"]))) {
    const second = await numbered.next();
    if (!second.done) throw atLine(second.value.at, "comes after a whole conversation: a file holds one");
    yield* messagesOf(value);
  } else {
    yield { value, place: `line ${first.value.at}` };
    yield* linesOf(numbered);
  }
}

interface Line {
  at: number;
  text: string;
}

async function* nonBlank(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Line, void> {
  let at = 0;
  for await (const text of lines) {
    at += 1;
    // Some editors mark the beginning of a file.
    const bare = at === 1 ? text.replace(/^\ufeff/, "") : text;
    if (bare.trim() !== "") yield { at, text: bare };
  }
}

async function* linesOf(lines: AsyncGenerator<Line, void>): AsyncGenerator<Placed, void> {
  for await (const { at, text } of lines) {
    const value = parsed(text);
    if (value === undefined) throw atLine(at, `is not JSON: ${shown(text)}`);
    if (isFields(value) && Array.isArray(value["messages"]))
      throw atLine(at, "is another conversation: a file holds one");
    yield { value, place: `line ${at}` };
  }
}

async function wholeOf(first: Line, rest: AsyncGenerator<Line, void>): Promise<unknown> {
  const texts = [first.text];
  let chars = first.text.length;
  for await (const { text } of rest) {
    texts.push(text);
    chars += text.length + 1;
    if (chars > documentChars) {
      throw new PawlError(
        "INVALID_INPUT",
        `more than ${documentChars} characters in one JSON document; write one message a line; nothing was imported`,
      );
    }
  }
  const value = parsed(texts.join("\n"));
  if (value !== undefined) return value;
  throw atLine(first.at, `is not JSON, and neither is the file as a whole: ${shown(first.text)}`);
}

function* messagesOf(document: unknown): Generator<Placed, void> {
  const list = isFields(document) ? document["messages"] : document;
  if (!Array.isArray(list)) {
    throw new PawlError(
      "INVALID_INPUT",
      `the file is neither a list of messages nor an object with \`messages\`: ${shown(document)}; nothing was imported`,
    );
  }
  const { system, model } = isFields(document) ? document : {};
  const named = typeof model === "string" ? { model } : {};
  if (typeof system === "string" || Array.isArray(system)) {
    yield { value: { role: "system", content: system }, place: "system", ...named };
  }
  for (const [at, value] of list.entries()) yield { value, place: `message ${at + 1}`, ...named };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function atLine(at: number, what: string): PawlError {
  return new PawlError("INVALID_INPUT", `line ${at}: ${what}; nothing was imported`);
}
