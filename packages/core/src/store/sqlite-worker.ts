/**
 * The thread that holds the database: the only one that opens it, and the only one that waits for a disk.
 *
 * Owns: the order of work: everything that waits is taken at once, writes go first as one group, reads follow.
 */
import { parentPort, receiveMessageOnPort } from "node:worker_threads";
import { assert, PawlError } from "../error.ts";
import { storeReadOnly } from "./refusal.ts";
import { storeFault } from "./sqlite-fault.ts";
import { Group } from "./sqlite-group.ts";
import { openDatabase } from "./sqlite-open.ts";
import { Reader } from "./sqlite-read.ts";
import type { Answer, Call, Kind, OpenCall, Opened, Page } from "./sqlite-wire.ts";

/** Operations of one transaction: bounds how long the first of them waits for the last. */
const groupOperations = 1_000;

/** Reads answered in one message: some hundred microseconds of work. */
const readsTogether = 32;
const largeReads: ReadonlySet<Kind> = new Set(["open", "read", "readTail", "list", "loadSnapshot", "close"]);

assert(parentPort, "sqlite-worker is started as a worker");
const port = parentPort;

interface Open {
  /** None where the file is open for reading only. */
  group: Group | undefined;
  reader: Reader;
  close(): void;
}

let path = "";
let opened: Open | undefined;

port.on("message", (first: Call[]) => {
  const calls = [...first];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    calls.push(...(next.message as Call[]));
  const writes = calls.filter((call) => Group.writes(call.kind));
  for (let at = 0; at < writes.length; at += groupOperations) {
    const slice = writes.slice(at, at + groupOperations);
    port.postMessage(opened?.group?.run(slice) ?? slice.map((call) => fault(call, notWritable())));
  }
  answerReads(calls.filter((call) => !Group.writes(call.kind)));
  opened?.group?.settle();
});

/** Those that need little are answered together, a message each costs more than they do; none waits for a page. */
function answerReads(calls: Call[]): void {
  const large = (call: Call) => largeReads.has(call.kind);
  for (let at = 0; at < calls.length; ) {
    const call = calls[at];
    assert(call, "a call");
    const end = large(call) ? at + 1 : calls.findIndex((other, index) => index > at && large(other));
    const slice = calls.slice(at, Math.min(end < 0 ? calls.length : end, at + readsTogether));
    const answers = slice.map(read);
    port.postMessage(answers, answers.flatMap(handedOver));
    at += slice.length;
  }
}

/** A page's memory goes over as it is: nobody here looks at it again, and copying it would cost as much as reading it. */
function handedOver(answer: Answer): ArrayBuffer[] {
  const page = ("out" in answer ? answer.out : undefined) as Partial<Page> | undefined;
  return page?.records ? [page.records.bytes.buffer as ArrayBuffer] : [];
}

function read(call: Call): Answer {
  try {
    return { id: call.id, out: run(call) };
  } catch (error) {
    return fault(call, error);
  }
}

function run(call: Call): unknown {
  if (call.kind === "open") return open(call.in);
  if (!opened) throw notOpen();
  const { reader, group } = opened;
  switch (call.kind) {
    case "read":
      return reader.read(call.in);
    case "readTail":
      return reader.readTail(call.in);
    case "get":
      return reader.get(call.in);
    case "list":
      return reader.list(call.in);
    case "resolveName":
      return reader.resolveName(call.in);
    case "mailbox":
      return reader.mailbox(call.in);
    case "readPartial":
      return reader.readPartial(call.in);
    case "loadSnapshot":
      return reader.loadSnapshot(call.in);
    case "work":
      return reader.work(call.in);
    case "marks":
      return reader.marks(call.in);
    case "stats":
      return group?.stats ?? { operations: 0, commits: 0, flushes: 0 };
    case "close":
      return close(opened);
    default:
      throw new PawlError("BUG", `${call.kind} is not an operation that reads`);
  }
}

function open(call: OpenCall): Opened {
  path = call.path;
  const { db, readOnly, warnings } = openDatabase(call);
  const group = readOnly ? undefined : new Group(db, path);
  opened = { group, reader: new Reader(db), close: () => (group ? group.close() : db.close()) };
  return { readOnly, warnings };
}

/** The last connection that closes folds the write-ahead log back into the file. */
function close(open: Open): undefined {
  opened = undefined;
  open.close();
}

function notOpen(): PawlError {
  return new PawlError("STORE_CLOSED", `${path} is not open`);
}

function notWritable(): PawlError {
  return opened ? storeReadOnly(path) : notOpen();
}

function fault(call: Call, error: unknown): Answer {
  const { code, message } = storeFault(error, path);
  return { id: call.id, fault: { code, message } };
}
