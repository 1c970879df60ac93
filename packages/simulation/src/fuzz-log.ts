/** Records as bytes: what a damaged store, a newer Pawl or an edited export may hold. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import {
  booksFold,
  checkSession,
  createSession,
  defineTool,
  exportSession,
  importSession,
  type LogRecord,
  memoryStore,
  openSession,
  type Runtime,
  runFold,
  transcriptOf,
  verify,
} from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, decodeAll, finish, say, scriptedModel, think } from "@pawl/core/testing";
import { bytesOf, refusedWith, type Target, textOf } from "./fuzz-target.ts";

const words = [
  ...[
    '"type":',
    '"payload":',
    '"checksum":',
    '"seq":',
    '"epoch":',
    '"version":2',
    '"ignorable":true',
    '"base64":"AAEC"',
  ],
  ...['{"erased":"","left":"{}","seal":""}', '"absent":[', '{"from":0,"to":2}', '"end":{', '"head":{', '"blob":"'],
  ...["tool.settled", "tool.entered", "message.committed", "turn.started", "turn.ended", "context.compacted"],
  ...["log.repaired", "snapshot.recorded", "approval.resolved", "attempt.ended", "session.created", "input.accepted"],
];

/** Two turns as their export: text, a thought, a broken attempt, a tool, a picture, a note. */
export async function exported(): Promise<string[]> {
  const runtime = memoryRuntime();
  const session = await createSession(runtime, "s", { title: "a title", cwd: "/work" });
  const model = scriptedModel([
    [...think("hm"), ...say("I look."), ...call("look", { path: "a" }), ...call("none", {}), finish("tool-calls")],
    [...say("It is "), { fail: new TypeError("terminated") }],
    [...say("It is done."), finish()],
    [...say("Nice."), finish()],
  ]);
  const look = defineTool({ inputSchema: { type: "object" }, execute: () => "seen", effect: "read" });
  const agent = { model, tools: { look }, recovery: { backoff: { firstMs: 0, factor: 1, capMs: 0 } } };
  await session.run(agent, "Look at it").result;
  const png = new Uint8Array([137, 80, 78, 71]);
  const blob = await runtime.store.putBlob(png);
  await session.run(agent, [{ type: "file", mediaType: "image/png", blob }]).result;
  const lines: string[] = [];
  for await (const line of exportSession(runtime.store, "s")) lines.push(line);
  return lines;
}

const still = { now: () => 0, monotonic: () => 0 };
const seedLines = await exported();
/** With payloads as the values that they hold, so that a change reaches into them. */
const openLines = seedLines.map((line) => {
  const form = parsed(line);
  return typeof form?.["payload"] === "string" ? JSON.stringify({ ...form, payload: parsed(form["payload"]) }) : line;
});

/** Lines of records. Checksums are right unless they say `bad`, and where no seq is said it is the place. */
export function codecTarget(): Target {
  const bare = openLines.map((line) => line.replace(/"seq":\d+,/, ""));
  const seeds = [bare, bare.slice(0, 8), openLines].map((lines) => bytesOf(lines.join("\n")));
  return { seeds, words, run: (input) => readRecords(recordsOf(textOf(input)), input.length % 4 === 0) };
}

async function readRecords(records: LogRecord[], mended: boolean): Promise<void> {
  const entries = await refusedWith(["CORRUPT", "SESSION_READ_ONLY"], () => decodeAll(records));
  if (entries) {
    const byPlace = new Map(records.map((record) => [record.seq, record]));
    for (const { seq, event } of entries) {
      assert.equal(event.type, byPlace.get(seq)?.type, "an event is of its record's type");
    }
    verify(entries);
    transcriptOf(entries);
    runFold(booksFold, entries);
  }
  if (mended) await mend(records);
}

/** A store that holds them: the doctor looks, mends, looks again, and then the session goes on or says why not. */
async function mend(records: LogRecord[]): Promise<void> {
  const runtime = memoryRuntime();
  const { store } = runtime;
  // A session without its creation is in no store.
  if (records.length === 0) return;
  const kept = await refusedWith(["INVALID_INPUT"], async () => {
    await store.restore({ session: "s", head: {}, batches: inOne(records) });
    return true;
  });
  if (!kept) return;
  await checkSession(runtime, "s");
  const mended = await refusedWith(["SESSION_READ_ONLY", "INVALID_EVENT"], () =>
    checkSession(runtime, "s", { repair: true }),
  );
  if (!mended) return;
  const { holes } = await checkSession(runtime, "s");
  assert.ok(
    holes.every((hole) => hole.mended || hole.kind === "newer"),
    "a repair mends every hole",
  );
  await goOn(runtime);
}

async function* inOne(records: LogRecord[]): AsyncGenerator<LogRecord[], void> {
  yield records;
}

async function goOn(runtime: Runtime): Promise<void> {
  const session = await openSession(runtime, "s");
  const model = scriptedModel([[...say("On."), finish()]]);
  // A log whose records are good and whose order is none breaks laws, which `verify` tells; a driver stops at its invariants.
  const codes = ["CORRUPT", "SESSION_READ_ONLY", "INVALID_INPUT", "BUG"] as const;
  await refusedWith(codes, () => session.run({ model, compaction: { mode: "off" } }, "go on").result);
}

function recordsOf(text: string): LogRecord[] {
  const forms = text.split("\n").flatMap((line) => {
    const form = parsed(line);
    return form && "checksum" in form ? [form] : [];
  });
  return forms.map((form, at) => {
    const record = { seq: at + 1, ...form, payload: payloadOf(form["payload"]) } as unknown as LogRecord;
    return form["checksum"] === "bad" ? record : sealed(record);
  });
}

function payloadOf(form: unknown): Uint8Array {
  if (typeof form === "string") return bytesOf(form);
  return bytesOf(JSON.stringify(form) ?? "");
}

/** Written a second time, from the description of the format. */
function sealed(record: LogRecord): LogRecord {
  const { session, seq, epoch, type, version, ignorable, time, payload } = record;
  const head = JSON.stringify([session, seq, epoch, type, version, ignorable, time]);
  const sum = payload instanceof Uint8Array ? hash("sha256", payload, "hex") : payload.erased;
  return { ...record, checksum: hash("sha256", head + sum, "hex").slice(0, 32) };
}

/** Whole files. Where the first line ends with a blank, payloads, checksums and counts are made right first. */
export function transferTarget(): Target {
  const blank = bytesOf(openLines.map((line, at) => (at === 0 ? `${line} ` : line)).join("\n"));
  const short = [`${openLines[0]} `, ...openLines.slice(1, 4), openLines.at(-1)];
  const seeds = [blank, bytesOf(short.join("\n")), bytesOf(seedLines.join("\n"))];
  return { seeds, words, run: (input) => takeIn(textOf(input).split("\n")) };
}

async function takeIn(given: string[]): Promise<void> {
  const lines = given[0]?.endsWith(" ") ? resealed(given) : given;
  const store = memoryStore({ clock: still });
  const options = { now: 0 };
  const id = await refusedWith(["INVALID_INPUT", "SESSION_EXISTS"], () => importSession(store, lines, options));
  if (id === undefined) {
    assert.deepEqual(await store.list(), [], "what was refused is not there");
    return;
  }
  const head: Record<string, unknown> = { ...(await store.get(id))?.head };
  for (const name of ["title", "cwd", "openTurn", "outcome"])
    assert.ok(head[name] === undefined || typeof head[name] === "string", `a head's ${name} is text`);
  const again = memoryStore({ clock: still });
  const out = await collect(exportSession(store, id));
  await importSession(again, out, options);
  assert.deepEqual(await collect(exportSession(again, id)), out, "an import exports as what it was");
  const runtime = { ...memoryRuntime(), store };
  await refusedWith(["CORRUPT", "SESSION_READ_ONLY"], async () => {
    const entries = await (await openSession(runtime, id)).entries();
    verify(entries);
    transcriptOf(entries);
  });
  await importSession(store, lines, { session: "copy", now: 0 }).catch((error: unknown) => {
    assert.match(String(error), /ancestors|exists|PawlError/);
  });
}

function resealed(lines: readonly string[]): string[] {
  const forms = lines.map(parsed);
  const records = forms.filter((form) => form && "checksum" in form).length;
  const blobs = forms.filter((form) => form && "blob" in form).length;
  return lines.map((line, at) => {
    const form = forms[at];
    if (!form) return line;
    if (at === 0) return JSON.stringify(isEmpty(form["absent"]) ? { ...form, seq: records } : form);
    if ("end" in form) return JSON.stringify({ end: { records, blobs } });
    if (!("checksum" in form)) return line;
    const bytes = payloadOf(form["payload"]);
    const { checksum } = sealed({ ...form, payload: bytes } as unknown as LogRecord);
    return JSON.stringify({ ...form, payload: textOf(bytes), checksum });
  });
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
