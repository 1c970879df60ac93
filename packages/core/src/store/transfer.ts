/**
 * A session as lines of JSON, from any store into any other.
 *
 * Owns: what is carried: the records byte for byte, with those that a fork reads of its parents (the lineage is
 * flattened: the file needs nothing else), and the blobs they name. Does not own: mailbox, names, snapshots, the partial
 * journal: they are of a place, not of the session. Invariants:
 * 1. A record has the same checksum on the other side; exporting again gives the same records.
 * 2. A damaged record is not carried. Its place stands in the header, and nothing else may be missing.
 * 3. An import is whole or is not there; what is wrong is named by its line.
 * 4. The id of an input that the log holds stays a duplicate on the other side, as where it came from.
 * 5. What was a hole is a hole on the other side, also at the end of the log (L4).
 */
import { hash } from "node:crypto";
import { isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { decode, encode } from "../log/codec.ts";
import type { LogEntry, LogRecord } from "../log/envelope.ts";
import type { Part, SessionCreated } from "../log/event.ts";
import { isId, isWorkspace, seen, workspaceWords } from "../log/shape.ts";
import { recordPages } from "./pages.ts";
import { noSession } from "./refusal.ts";
import type { Head, Store } from "./store.ts";
import { surveyLog } from "./survey.ts";
import { LogCheck } from "./transfer-check.ts";
import { type Header, lineOf, parseLine, type TransferLine, transferFormat } from "./transfer-line.ts";

/** The lines, each without its newline. Writes nothing. Fails with SESSION_NOT_FOUND. */
export async function* exportSession(store: Store, session: string): AsyncGenerator<string, void> {
  const summary = await store.get(session);
  if (!summary) throw noSession(session);
  const { seq, head } = summary;
  const holes = await surveyLog(store, session, seq);
  // What a newer version wrote is whole, and is carried as it is.
  const absent = holes.filter(({ kind }) => kind === "damaged").map(({ from, to }) => ({ from, to }));
  yield lineOf({ pawl: "session", format: transferFormat, session, seq, head: { ...head }, absent });
  const blobs = new Set<string>();
  let count = 0;
  for await (const records of recordPages(store, session)) {
    for (const record of records) {
      if (record.seq > seq || absent.some(({ from, to }) => from < record.seq && record.seq < to)) continue;
      for (const name of blobsOf(record)) blobs.add(name);
      count += 1;
      yield lineOf({ record });
    }
  }
  let carried = 0;
  for (const blob of blobs) {
    const bytes = await store.getBlob(blob);
    // One that is gone already cannot be carried; who reads the session finds out as before.
    if (!bytes) continue;
    carried += 1;
    yield lineOf({ blob, bytes });
  }
  yield lineOf({ end: { records: count, blobs: carried } });
}

function blobsOf(record: LogRecord): string[] {
  const entry = decodable(record);
  return entry
    ? partsOf(entry).flatMap((part) => (part.type === "file" && part.blob !== undefined ? part.blob : []))
    : [];
}

function decodable(record: LogRecord): LogEntry | undefined {
  try {
    return decode(record);
  } catch (error) {
    if (isPawlError(error)) return undefined;
    throw error;
  }
}

/** The content of an event that may name blobs. */
export function partsOf({ event }: Pick<LogEntry, "event">): readonly Part[] {
  switch (event.type) {
    case "input.accepted":
      return event.content;
    case "tool.settled":
      return event.output.content;
    case "context.compacted":
      return event.summary;
    default:
      return [];
  }
}

export interface ImportOptions {
  /**
   * Another id than the session had: then it begins with everything of the original, as a fork does, and its own first
   * record says so.
   */
  session?: string;
  /** What the session needs under another id; default: what the original does. Under its own it can only be repeated. */
  workspace?: string;
  /** UTC, ms: of that first record. */
  now: number;
}

/**
 * Takes a session in; resolves with its id. Fails with INVALID_INPUT naming the line and what is wrong with it, with
 * SESSION_EXISTS where the id is taken; then nothing of the session is in the store.
 */
export async function importSession(
  store: Store,
  lines: AsyncIterable<string> | Iterable<string>,
  { session: given, workspace, now }: ImportOptions,
): Promise<string> {
  const numbered = number(lines);
  const first = await numbered.next();
  if (first.done || !("pawl" in first.value.line)) throw atLine(1, "is no header: this is no exported session");
  const header = first.value.line;
  const session = given ?? header.session;
  if (!isId(session)) throw atLine(1, `${seen(session)} cannot be a session id`);
  if (await store.get(session)) throw exists(session);
  const needs = workspace === undefined ? {} : { workspace };
  const copied = session === header.session ? undefined : { session, from: header.session, now, needs };
  if (workspace !== undefined) admitWorkspace(workspace, copied ? undefined : header);
  const check = new LogCheck(header, copied?.session);
  await store.restore({
    session,
    head: copied ? { ...copiedHead(header.head), ...needs } : header.head,
    posts: check.posts,
    batches: batches(store, numbered, header, check, now, copied),
  });
  return session;
}

/** `keeps`: the session that is taken in as it is; what it needs stands in its records. */
function admitWorkspace(workspace: string, keeps: Header | undefined): void {
  if (!isWorkspace(workspace)) throw new PawlError("INVALID_INPUT", workspaceWords(workspace));
  if (!keeps || keeps.head.workspace === workspace) return;
  const needed = keeps.head.workspace === undefined ? "no workspace" : `workspace ${seen(keeps.head.workspace)}`;
  throw new PawlError(
    "INVALID_INPUT",
    `session ${keeps.session} needs ${needed}, for good; under another id (--session) it may need another, nothing was imported`,
  );
}

/** A copy is driven by nobody yet: a turn that is open in it was open elsewhere, and is closed by who drives it first. */
function copiedHead(head: Head): Head {
  const { openTurn: _, ...rest } = head;
  return rest;
}

interface Numbered {
  line: TransferLine;
  at: number;
}

async function* number(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Numbered, void> {
  let at = 0;
  for await (const text of lines) {
    at += 1;
    // Editors and pipes add an empty last line.
    if (text === "") continue;
    yield { line: naming(at, () => parseLine(text)), at };
  }
}

/** What is refused in `check` is refused with the line that it is about. */
function naming<T>(at: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw isPawlError(error, "INVALID_INPUT") ? atLine(at, error.message) : error;
  }
}

/** Under which id a copy begins, after which session, when, and what it needs of its own. */
interface Copied {
  needs: { workspace?: string };
  session: string;
  from: string;
  now: number;
}

async function* batches(
  store: Store,
  lines: AsyncGenerator<Numbered, void>,
  header: Header,
  check: LogCheck,
  now: number,
  copied: Copied | undefined,
): AsyncGenerator<LogRecord[], void> {
  const counted = { records: 0, blobs: 0 };
  let batch: LogRecord[] = [];
  let ended = false;
  let last = 1;
  for await (const { line, at } of lines) {
    last = at;
    if (ended || "pawl" in line) throw atLine(at, "comes after the end, or is a second header");
    if ("record" in line) {
      naming(at, () => check.take(line.record));
      counted.records += 1;
      if (batch.push(line.record) < limit.batchRecords) continue;
      yield batch;
      batch = [];
    } else if ("blob" in line) {
      if (hash("sha256", line.bytes, "hex") !== line.blob) throw atLine(at, `the blob ${seen(line.blob)} is damaged`);
      await store.putBlob(line.bytes);
      counted.blobs += 1;
    } else {
      ended = true;
      checkEnd(line.end, counted, check, header, at);
    }
  }
  if (!ended) throw atLine(last + 1, "is missing: the file ends before its end line, it was cut");
  if (copied) batch.push(...firstOwn(header.seq, check.created, copied));
  else if (check.seq < header.seq) batch.push(...behindTail(header, check, now));
  if (batch.length > 0) yield batch;
}

function firstOwn(
  seq: number,
  created: SessionCreated | undefined,
  { session, from, now, needs }: Copied,
): LogRecord[] {
  const event: SessionCreated = { type: "session.created", ...created, ...needs, parent: { session: from, seq } };
  return encode([event], { session, epoch: 0, expectedSeq: seq, time: now });
}

/**
 * A log that just ends tells nobody that it went on: what was entered in the lost tail would be entered again. A record
 * behind it makes the tail a hole, and nobody drives over a hole that is not repaired.
 */
function behindTail({ session, seq }: Header, { seq: from, last }: LogCheck, now: number): LogRecord[] {
  const text = `records ${from + 1} to ${seq} were damaged where the session came from, and are lost`;
  const epoch = last?.session === session ? last.epoch : 0;
  return encode([{ type: "note.recorded", about: "import", text }], { session, epoch, expectedSeq: seq, time: now });
}

function checkEnd(
  end: { records: number; blobs: number },
  counted: { records: number; blobs: number },
  check: LogCheck,
  header: Header,
  at: number,
): void {
  if (end.records !== counted.records || end.blobs !== counted.blobs) {
    const was = `${end.records} records and ${end.blobs} blobs`;
    throw atLine(at, `says ${was}, the file has ${counted.records} and ${counted.blobs}: lines are missing`);
  }
  if (!check.endsAt(header.seq)) throw atLine(at, `the log should end at ${header.seq}, the file ends at ${check.seq}`);
  if (counted.records === 0) throw atLine(at, "the file holds no record that could be read");
}

function atLine(line: number, what: string): PawlError {
  return new PawlError("INVALID_INPUT", `line ${line}: ${what}; nothing was imported`);
}

function exists(session: string): PawlError {
  return new PawlError(
    "SESSION_EXISTS",
    `session ${session} exists here; import it under another id with --session, nothing was imported`,
  );
}
