/**
 * A conversation that another program has kept, as a session that goes on here.
 *
 * Owns: the order of reading, writing and refusing. Does not own: formats (format), what becomes of a message
 * (chronicle). Invariants:
 * 1. A session is whole or is not there. What is wrong is named by its place, with the value seen.
 * 2. Read and written as it comes: memory is for one batch, and for the calls that wait for their results.
 */
import type { Effects } from "../effects.ts";
import { isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { encode } from "../log/codec.ts";
import type { LogRecord } from "../log/envelope.ts";
import type { LogEvent } from "../log/event.ts";
import { isId, isWorkspace, seen, workspaceWords } from "../log/shape.ts";
import type { ModelRef } from "../log/value.ts";
import type { Head, Store } from "../store/store.ts";
import { Chronicle, type Told } from "./chronicle.ts";
import { formatOf, translatorOf } from "./format.ts";
import { type ForeignFormat, foreignFormats, type Heard, type Translator } from "./heard.ts";
import { type Fields, isFields, shown } from "./repair-list.ts";
import { type Placed, placedLines } from "./transcript-file.ts";

export interface ImportMessagesOptions {
  /** Default: read from the structure of the messages. */
  format?: ForeignFormat;
  /** The id of the session. Default: a new one. */
  session?: string;
  /** Default: how the first input begins. */
  title?: string;
  /**
   * The model that gave the answers, as the AI SDK names it (`anthropic.messages`, `claude-opus-4-5`). With it, signatures
   * and other state of the provider are kept, for this model alone; without it, they are dropped.
   */
  model?: ModelRef;
  /** With it only workers that have it drive the session. */
  workspace?: string;
}

export interface ImportedMessages {
  session: string;
  /** What they were read as; undefined: plain texts, alike in every format. */
  format: ForeignFormat | undefined;
  messages: number;
}

/** Where a session is put. A `Runtime` is one. */
export interface ImportPlace {
  store: Store;
  effects: Effects;
}

/**
 * Makes a session of messages in the form of the AI SDK, of OpenAI's chat protocol or of Anthropic's. Leading system
 * messages become the recorded instructions. Fails with INVALID_INPUT naming the message and what is wrong with it, with
 * SESSION_EXISTS where the id is taken; then nothing of the session is in the store.
 */
export function importMessages(
  place: ImportPlace,
  messages: AsyncIterable<unknown> | Iterable<unknown>,
  options: ImportMessagesOptions = {},
): Promise<ImportedMessages> {
  return importPlaced(place, placed(messages), options);
}

/** The same from the lines of a file: one message a line, or one JSON array or object with `messages` over all of them. */
export function importTranscript(
  place: ImportPlace,
  lines: AsyncIterable<string> | Iterable<string>,
  options: ImportMessagesOptions = {},
): Promise<ImportedMessages> {
  return importPlaced(place, placedLines(lines), options);
}

async function* placed(messages: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<Placed, void> {
  let at = 0;
  for await (const value of messages) yield { value, place: `message ${++at}` };
}

async function importPlaced(
  { store, effects }: ImportPlace,
  messages: AsyncGenerator<Placed, void>,
  { format, session = effects.id("s"), title, model, workspace }: ImportMessagesOptions,
): Promise<ImportedMessages> {
  if (!isId(session)) {
    throw new PawlError(
      "INVALID_INPUT",
      `${seen(session)} cannot be a session id; use 1 to 64 characters A-Z a-z 0-9 _ -`,
    );
  }
  if (workspace !== undefined && !isWorkspace(workspace))
    throw new PawlError("INVALID_INPUT", workspaceWords(workspace));
  if (format !== undefined && !foreignFormats.includes(format)) {
    throw new PawlError("INVALID_INPUT", `format ${seen(format)} is none of ${foreignFormats.join(", ")}`);
  }
  if (await store.get(session)) {
    throw new PawlError(
      "SESSION_EXISTS",
      `session ${session} exists here; import under another id, nothing was imported`,
    );
  }
  const reader = new Reader(format);
  const told = events(reader, messages, { store, effects, model });
  const first = await beginning(told, reader);
  const name = title ?? reader.firstWords;
  // The store takes the head when it has all the records: by then the last outcome stands in it.
  const facts = { ...(name === undefined ? {} : { title: name }), ...(workspace === undefined ? {} : { workspace }) };
  const head: Head = { ...facts };
  const created: LogEvent = { type: "session.created", ...facts };
  const all = chain([{ event: created, place: "the session" }, ...first], told);
  await store.restore({ session, head, batches: batches(all, session, effects.clock.now(), reader, head) });
  return { session, format: reader.format, messages: reader.count };
}

/** Reads ahead as far as the first words, which name the session; instructions may come before them. */
async function beginning(told: AsyncGenerator<Told, void>, reader: Reader): Promise<Told[]> {
  const first: Told[] = [];
  while (reader.firstWords === undefined && first.length < limit.batchRecords) {
    const next = await told.next();
    if (next.done) break;
    first.push(next.value);
  }
  if (reader.count === 0) throw new PawlError("INVALID_INPUT", "there is no message in it; nothing was imported");
  return first;
}

async function* chain(first: readonly Told[], rest: AsyncGenerator<Told, void>): AsyncGenerator<Told, void> {
  yield* first;
  yield* rest;
}

async function* events(
  reader: Reader,
  messages: AsyncGenerator<Placed, void>,
  { store, effects, model }: ImportPlace & { model: ModelRef | undefined },
): AsyncGenerator<Told, void> {
  let chronicle: Chronicle | undefined;
  const begin = (modelName: string | undefined) =>
    new Chronicle({ effects, keep: (bytes) => store.putBlob(bytes), model, modelName });
  for await (const message of messages) {
    chronicle ??= begin(message.model);
    for (const heard of reader.read(message)) await chronicle.hear(heard, message.place);
    yield* chronicle.take();
  }
  if (!chronicle) return;
  await chronicle.end();
  reader.outcome = chronicle.outcome;
  const kind = reader.format === undefined ? "plain texts" : `the format ${reader.format}`;
  chronicle.note(`imported ${reader.count} messages in ${kind}`, "the end");
  yield* chronicle.take();
}

/** Knows the format as soon as a message shows it, and what was read. */
class Reader {
  format: ForeignFormat | undefined;
  count = 0;
  firstWords: string | undefined;
  outcome: string | undefined;
  readonly #given: boolean;
  #translate: Translator;
  #place: string | undefined;

  constructor(format: ForeignFormat | undefined) {
    this.format = format;
    this.#given = format !== undefined;
    // Plain texts read the same in each; this one also knows what stands beside the messages of a request.
    this.#translate = translatorOf(format ?? "anthropic");
  }

  read({ value, place }: Placed): Heard[] {
    if (!isFields(value)) throw atPlace(place, `is no message: ${shown(value)}`);
    if (!this.#given) this.#learn(value, place);
    this.count += 1;
    try {
      const heard = this.#translate(value);
      this.firstWords ??= wordsOf(heard);
      return heard;
    } catch (error) {
      if (!isPawlError(error, "INVALID_INPUT")) throw error;
      throw atPlace(place, `${error.message} (read as ${this.format ?? "plain text"})`);
    }
  }

  #learn(message: Fields, place: string): void {
    const found = formatOf(message);
    if (found === "any") return;
    if (found === undefined) throw atPlace(place, unclear(message));
    if (this.format === undefined) {
      this.format = found;
      this.#translate = translatorOf(found);
      this.#place = place;
    } else if (found !== this.format) {
      throw atPlace(place, `looks like ${found}, but ${this.#place} like ${this.format}; ${naming}`);
    }
  }
}

const naming = `name the format (--format ${foreignFormats.join(", ")})`;

function unclear(message: Fields): string {
  if (Array.isArray(message["parts"]))
    return "is a UIMessage; turn it into model messages first (convertToModelMessages)";
  return `is a message of no format that is known here: ${shown(message)}; ${naming}`;
}

function wordsOf(heard: readonly Heard[]): string | undefined {
  for (const each of heard) {
    const words =
      each.kind === "input" ? each.content.find((part) => part.type === "text" && part.text.trim() !== "") : undefined;
    if (words?.type === "text") return words.text.trim().replace(/\s+/g, " ").slice(0, 72).toWellFormed();
  }
  return undefined;
}

/** A batch is written when it has this many bytes, or records. */
const batchBytes = 4 * 1024 * 1024;

async function* batches(
  told: AsyncGenerator<Told, void>,
  session: string,
  time: number,
  reader: Reader,
  head: Head,
): AsyncGenerator<LogRecord[], void> {
  let batch: LogRecord[] = [];
  let bytes = 0;
  let seq = 0;
  for await (const { event, place } of told) {
    const records = encoded(event, place, { session, epoch: 0, expectedSeq: seq, time });
    seq += 1;
    for (const record of records) {
      batch.push(record);
      if (record.payload instanceof Uint8Array) bytes += record.payload.byteLength;
    }
    if (batch.length < limit.batchRecords && bytes < batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
  if (reader.outcome !== undefined) head.outcome = reader.outcome;
}

function encoded(event: LogEvent, place: string, at: Parameters<typeof encode>[1]): LogRecord[] {
  try {
    return encode([event], at);
  } catch (error) {
    throw isPawlError(error, "INVALID_EVENT") ? atPlace(place, error.message) : error;
  }
}

function atPlace(place: string, what: string): PawlError {
  return new PawlError("INVALID_INPUT", `${place}: ${what}; nothing was imported`);
}
