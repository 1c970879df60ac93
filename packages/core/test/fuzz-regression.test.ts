/** Inputs that a search with random bytes has found (`packages/simulation/src/fuzz.ts`), each made small, and what must become of it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FrameCutter } from "../src/attempt/frame.ts";
import {
  checkSession,
  createSession,
  defineTool,
  exportSession,
  importSession,
  isPawlError,
  openSession,
  type Runtime,
  repairMessages,
} from "../src/index.ts";
import { decode } from "../src/log/codec.ts";
import { checksum, type LogRecord } from "../src/log/envelope.ts";
import { salvage } from "../src/log/salvage.ts";
import { memoryRuntime } from "../src/node.ts";
import { call, finish, say, scriptedModel } from "../src/testing.ts";

type Form = Record<string, unknown>;

/** A record whose checksum is right, whatever else is wrong with it. */
function recordOf(payload: string, fields: Form = {}): LogRecord {
  const envelope = {
    session: "s",
    seq: 2,
    epoch: 1,
    type: "note.recorded",
    version: 1,
    ignorable: true,
    time: 1,
    ...fields,
  };
  const bytes = new TextEncoder().encode(payload);
  return { ...envelope, payload: bytes, checksum: checksum(envelope as never, bytes) } as LogRecord;
}

const note = '{"about":"x","text":"y"}';
const lineOf = (record: LogRecord, payload: string) => JSON.stringify({ ...record, payload });

/** A file of a session with these records after its creation. */
async function fileOf(records: [payload: string, fields?: Form][], header: Form = {}): Promise<string[]> {
  const runtime = memoryRuntime();
  await createSession(runtime, "s");
  const [, created = ""] = await exported(runtime);
  const own = records.map(([payload, fields]) => lineOf(recordOf(payload, fields), payload));
  const seq = records.length + 1;
  const head = { pawl: "session", format: 1, session: "s", seq, head: {}, absent: [], ...header };
  return [JSON.stringify(head), created, ...own, JSON.stringify({ end: { records: seq, blobs: 0 } })];
}

async function exported({ store }: Runtime): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportSession(store, "s")) lines.push(line);
  return lines;
}

async function refused(lines: readonly string[]): Promise<void> {
  const runtime = memoryRuntime();
  const now = 0;
  await assert.rejects(importSession(runtime.store, lines, { now }), (error) => isPawlError(error, "INVALID_INPUT"));
  assert.deepEqual(await runtime.store.list(), []);
}

const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

describe("a record", () => {
  for (const [what, payload] of [
    ["content nested too deep to be walked", `{"about":"x","text":"y","data":${deep}}`],
    ["a field that is nested too deep to be shown", `{"about":${deep},"text":"y"}`],
  ] as const) {
    test(`${what} is damage, not a crash`, () => {
      assert.throws(
        () => decode(recordOf(payload)),
        (error) => isPawlError(error, "CORRUPT"),
      );
    });
  }

  for (const [what, fields] of [
    ["a type is an object, which cannot be said in words either", { type: { toString: "" } }],
    ["a version is one", { version: { toString: "" } }],
  ] as const) {
    test(`${what}: damage, not a crash`, () => {
      const record = recordOf(note, fields);
      assert.throws(
        () => decode(record),
        (error) => isPawlError(error, "CORRUPT"),
      );
      assert.equal(salvage([{ ...record, seq: 1 }]).holes[0]?.kind, "damaged");
    });
  }

  test("a payload cannot say that it is an event of another type", () => {
    const record = recordOf('{"type":"turn.started","turn":"t","inputs":[]}');
    assert.throws(
      () => decode(record),
      (error) => isPawlError(error, "CORRUPT"),
    );
  });
});

describe("an exported session is refused, in the words of its line, where", () => {
  const odd: [what: string, fields: Form][] = [
    ["a version is an object", { version: { toString: 1 } }],
    ["a type is an object", { type: { toString: 1 } }],
    ["a type is a list, which a database cannot keep", { type: ["note.recorded"] }],
    ["a mark is no true or false, which a database would change", { ignorable: { a: 1 } }],
  ];
  for (const [what, fields] of odd) test(what, async () => refused(await fileOf([[note, fields]])));

  test("a payload is nested too deep", async () =>
    refused(await fileOf([[`{"about":"x","text":"y","data":${deep}}`]])));

  test("an absent stretch is none", async () => refused(await fileOf([[note]], { absent: [null] })));

  test("the epoch falls: the session could not be read", async () => {
    await refused(
      await fileOf([
        [note, { epoch: 5 }],
        [note, { epoch: 1, seq: 3 }],
      ]),
    );
  });

  for (const head of [[], { title: 5 }, { cwd: {} }, { openTurn: 3 }, { outcome: [] }]) {
    test(`its head is none: ${JSON.stringify(head)}`, async () => refused(await fileOf([[note]], { head })));
  }
});

test("arguments that are nested too deep to be copied are an error result, and no end of the turn", async () => {
  const runtime = memoryRuntime();
  const input = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  const model = scriptedModel([
    [...call("look", input), finish("tool-calls")],
    [...say("I see."), finish()],
  ]);
  const look = defineTool({ inputSchema: { type: "object" }, execute: () => "seen" });
  const { outcome, text } = await (await createSession(runtime)).run({ model, tools: { look } }, "go").result;
  assert.deepEqual([outcome.type, text], ["completed", "I see."]);
});

test("a frame that never ends is held in time that grows with its length, however its chunks begin", () => {
  const chunk = new TextEncoder().encode(`\r${"x".repeat(99)}`);
  const chunks = 500;
  const { set } = Uint8Array.prototype;
  let copied = 0;
  Uint8Array.prototype.set = function (from: ArrayLike<number>, at?: number) {
    copied += from.length;
    return set.call(this, from, at);
  };
  try {
    const cutter = new FrameCutter();
    for (let at = 0; at < chunks; at += 1) assert.equal(cutter.push(chunk), undefined);
    assert.equal(cutter.rest()?.length, chunks * chunk.length);
  } finally {
    Uint8Array.prototype.set = set;
  }
  assert.ok(copied <= 4 * chunks * chunk.length, `${copied} bytes copied for ${chunks * chunk.length}`);
});

test("a frame that is longer than any answer goes on as it is, and the frames behind it whole", () => {
  const cutter = new FrameCutter();
  const chunk = new Uint8Array(5_000_000).fill(120);
  for (let at = 0; at < 3; at += 1) assert.equal(cutter.push(chunk), undefined);
  assert.equal(cutter.push(chunk)?.length, 4 * chunk.length);
  const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
  assert.equal(text(cutter.push(new TextEncoder().encode("x\n\nda"))), "x\n\n");
  assert.equal(text(cutter.push(new TextEncoder().encode("ta: y\n\n"))), "data: y\n\n");
  assert.equal(cutter.rest(), undefined);
});

test("L4: a tail that was damaged where a session came from stays damage where it is taken in: no write runs again", async () => {
  const origin = memoryRuntime();
  let runs = 0;
  const execute = () => {
    runs += 1;
    return "ok";
  };
  const act = defineTool({ inputSchema: { type: "object" }, effect: "write", execute });
  const model = scriptedModel([
    [...call("act", {}), finish("tool-calls")],
    [...say("Done."), finish()],
  ]);
  await (await createSession(origin, "s")).run({ model, tools: { act } }, "go").result;
  const [header = "", ...lines] = await exported(origin);
  // The entry of the call and all that follows it are lost: what `exportSession` makes of such a log.
  const cut = lines.findIndex((line) => line.includes('"tool.entered"'));
  const absent = [{ from: cut, to: cut + 2 }];
  const head = JSON.stringify({ ...JSON.parse(header), seq: cut + 1, head: { openTurn: "t" }, absent });
  const file = [head, ...lines.slice(0, cut), JSON.stringify({ end: { records: cut, blobs: 0 } })];
  const copy = memoryRuntime();
  await importSession(copy.store, file, { now: 0 });
  const { holes } = await checkSession(copy, "s");
  assert.deepEqual(
    holes.map(({ from, to, mayHoldTools }) => ({ from, to, mayHoldTools })),
    [{ ...absent[0], mayHoldTools: true }],
  );
  const again = scriptedModel([[...say("Done."), finish()]]);
  const session = await openSession(copy, "s");
  await session.resume({ model: again, tools: { act } }).result.catch(() => {});
  assert.equal(runs, 1, "the body is entered once");
});

test("a history in which two requests bear one approval is repaired once, and its answer stays with the first", () => {
  const asks = [
    { type: "tool-call", toolCallId: "c", toolName: "rm", input: {} },
    { type: "tool-approval-request", approvalId: "p", toolCallId: "c" },
  ];
  const response = { type: "tool-approval-response", approvalId: "p", approved: true };
  const history = [
    { role: "user", content: "go" },
    { role: "assistant", content: [...asks, ...asks] },
    { role: "tool", content: [response] },
  ] as unknown as Parameters<typeof repairMessages>[0];
  const { messages, repairs } = repairMessages(history);
  assert.ok(
    repairs.some(({ kind, what }) => kind === "approval" && /request for call "c".* its id is another's/.test(what)),
  );
  assert.deepEqual(repairMessages(messages), { messages, repairs: [] });
  const requests = (messages[1] as { content: { type: string }[] }).content.filter(
    ({ type }) => type === "tool-approval-request",
  );
  assert.deepEqual(requests, [asks[1]]);
});
