/** A session with a hole anywhere in its log: not driven until the repair is recorded, then driven like any other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSession } from "../src/doctor/session-checkup.ts";
import { encode } from "../src/log/codec.ts";
import type { LogEntry, LogRecord } from "../src/log/envelope.ts";
import type { LogEvent } from "../src/log/event.ts";
import { finish, say } from "../src/testing/model.ts";
import { forkSession, openSession } from "../src/turn/session.ts";
import { turnEvents } from "./fixtures/store-content.ts";
import { sampler } from "./ground.ts";
import { agentOf, assertLawful, eventsOf, promptFor, TurnWorld } from "./turn-world.ts";

const at = { session: "s", epoch: 1, expectedSeq: 0, time: 1_800_000_000_000 };
const whole = encode([{ type: "session.created" }, ...turnEvents(1, "ab"), ...turnEvents(2, "ab")], at);

const earlyEntry: LogEvent = {
  type: "tool.entered",
  call: "attempt-1a-1",
  tool: "look",
  digest: "d",
  effect: "read",
  key: "k",
  attempt: "attempt-1a",
  input: "{}",
};

async function* once(records: LogRecord[]): AsyncGenerator<LogRecord[]> {
  yield records;
}

/** Calls whose message is there and whose result is not. */
function inDoubt(left: LogRecord[]): string[] {
  const has = (type: string, text: string) =>
    left.some((record) => record.type === type && Buffer.from(record.payload as Uint8Array).includes(text));
  return ["attempt-1a-1", "attempt-2a-1"].filter(
    (call) => has("message.committed", `"${call}"`) && !has("tool.settled", call),
  );
}

test("a hole at every place and of every size: refused, repaired, driven; lost results are unknown, never not-started", async () => {
  const isSampled = sampler();
  for (let from = 0; from < whole.length - 1; from += 1) {
    for (let to = from + 1; to < whole.length; to += 1) {
      if (!isSampled()) continue;
      const where = `records ${from + 1} to ${to}`;
      const world = new TurnWorld();
      const left = [...whole.slice(0, from), ...whole.slice(to)];
      await world.store.restore({ session: "s", head: {}, batches: once(left) });
      const session = await openSession(world.process(), "s");
      const refused = session.run(agentOf([]), "go on").result;
      await assert.rejects(refused, { code: "CORRUPT" }, where);
      assert.deepEqual(await world.mailbox(), [], where);

      await checkSession(world.process(), "s", { repair: true });
      const agent = agentOf([[...say("here I am"), finish()]]);
      const result = await world.effects.run(session.run(agent, "go on").result);
      assert.equal(result.outcome.type, "completed", `${where} ${JSON.stringify(result.failure)}`);
      const entries = await session.entries();
      assertLawful(entries, where);
      const prompt = JSON.stringify(promptFor(entries));
      assert.ok(!prompt.includes("TOOL_NOT_STARTED"), `${where}: ${prompt}`);
      const unknown = prompt.split("TOOL_OUTCOME_UNKNOWN: ").length - 1;
      assert.equal(unknown, inDoubt(left).length, where);
      const seen: number[] = [];
      const end = new AbortController();
      for await (const entry of session.follow({ signal: end.signal })) {
        seen.push(entry.seq);
        if (seen.length === entries.length) end.abort();
      }
      assert.deepEqual(
        seen,
        entries.map(({ seq }) => seq),
      );
    }
  }
});

test("L7: a hole at every place of a turn that is open: what it was open with gets its end, also where its start is lost", async () => {
  const turn = turnEvents(1, "ab");
  for (let end = 4; end < turn.length; end += 1) {
    // Its message is in the same batch.
    if (turn[end - 1]?.type === "attempt.ended") continue;
    const records = encode([{ type: "session.created" }, ...turnEvents(2, "ab"), ...turn.slice(0, end)], at);
    const before = records.length - end;
    for (let from = before - 1; from < records.length - 1; from += 1) {
      for (let to = from + 1; to < records.length; to += 1) {
        const where = `of ${records.length} records, ${from + 1} to ${to}`;
        const world = new TurnWorld();
        const left = [...records.slice(0, from), ...records.slice(to)];
        await world.store.restore({ session: "s", head: { openTurn: "turn-1" }, batches: once(left) });
        await checkSession(world.process(), "s", { repair: true });
        assert.equal((await world.store.get("s"))?.head.openTurn, undefined, where);
        const session = await openSession(world.process(), "s");
        const result = await world.effects.run(session.run(agentOf([[...say("here"), finish()]]), "go on").result);
        assert.equal(result.outcome.type, "completed", where);
        assertLawful(await session.entries(), where);
        const { findings } = await checkSession(world.process(), "s");
        assert.deepEqual(
          findings.filter(({ severity }) => severity === "wrong"),
          [],
          where,
        );
      }
    }
  }
});

/** As `turnEvents`, but its call is a read that was entered before its message. */
function earlyTurn(): LogEvent[] {
  return turnEvents(1, "ab").flatMap((event): LogEvent[] => {
    if (event.type === "attempt.ended" && event.attempt === "attempt-1a") return [earlyEntry, event];
    return event.type === "tool.entered" ? [] : [event];
  });
}

/** What a log tells of results, by call. */
function codesOf(entries: readonly LogEntry[]): [string, string | undefined][] {
  return eventsOf(entries, "tool.settled").map(({ call, output }) => [call, output.code]);
}

/** What has begun, as far as anything names it, and has no end. */
function withoutEnd(entries: readonly LogEntry[]): string[] {
  const begun = new Set<string>();
  for (const { event } of entries) {
    if (event.type === "step.started") begun.add(event.turn).add(event.step);
    if (event.type === "attempt.started") begun.add(event.step).add(event.attempt);
    if (event.type === "turn.ended") begun.delete(event.turn);
    if (event.type === "step.ended") begun.delete(event.step);
    if (event.type === "attempt.ended") begun.delete(event.attempt);
  }
  return [...begun];
}

for (const [title, turn] of [
  ["a turn", turnEvents(1, "ab")],
  ["a turn with an early read", earlyTurn()],
] as const) {
  test(`L7: ${title}, with a hole at every place, repaired, and forked at every seq of its repair: the fork closes what the doctor did`, async () => {
    const isSampled = sampler();
    let cut = 0;
    for (let end = 4; end < turn.length; end += 1) {
      if (turn[end - 1]?.type === "attempt.ended") continue;
      const records = encode([{ type: "session.created" }, ...turn.slice(0, end)], at);
      for (let from = 1; from < records.length - 1; from += 1) {
        for (let to = from + 1; to < records.length; to += 1) {
          if (!isSampled()) continue;
          const world = new TurnWorld();
          const left = [...records.slice(0, from), ...records.slice(to)];
          await world.store.restore({ session: "s", head: { openTurn: "turn-1" }, batches: once(left) });
          await checkSession(world.process(), "s", { repair: true });
          const repaired = await (await openSession(world.process(), "s")).entries();
          const last = repaired.at(-1)?.seq ?? 0;
          for (let seq = records.length + 1; seq < last; seq += 1) {
            const where = `of ${records.length} records, ${from + 1} to ${to}, forked at ${seq} of ${last}`;
            const child = await forkSession(world.process(), { session: "s", seq }, `at-${seq}`);
            const result = await world.effects.run(child.run(agentOf([[...say("here"), finish()]]), "go on").result);
            assert.equal(result.outcome.type, "completed", where);
            const entries = await child.entries();
            assertLawful(entries, where);
            assert.deepEqual(withoutEnd(entries), withoutEnd(repaired), where);
            cut += 1;
            // A message is all that is left of its step: nobody closes that, and the model is told what the doctor has recorded.
            if (codesOf(entries).length > 0) assert.deepEqual(codesOf(entries), codesOf(repaired), where);
            else for (const code of told(entries)) assert.ok(told(repaired).includes(code), `${where}: ${code}`);
          }
        }
      }
    }
    assert.ok(cut > 0);
  });
}

/** The codes of results in the next request. */
function told(entries: readonly LogEntry[]): string[] {
  return JSON.stringify(promptFor(entries)).match(/TOOL_[A-Z_]+(?=: )/g) ?? [];
}

test("a repair of which records are lost themselves: no law is broken by what is left, and it is mended again", async () => {
  const isSampled = sampler();
  const behind: LogEvent = { type: "note.recorded", about: "s", text: "behind it" };
  const records = encode([{ type: "session.created" }, ...turnEvents(1, "ab"), behind], at);
  for (let from = 1; from < records.length - 1; from += 1) {
    const first = new TurnWorld();
    const left = [...records.slice(0, from), ...records.slice(from + 1)];
    await first.store.restore({ session: "s", head: { openTurn: "turn-1" }, batches: once(left) });
    await checkSession(first.process(), "s", { repair: true });
    const repaired = await first.store.read("s");
    for (const { seq } of repaired.filter((record) => record.seq > records.length)) {
      for (const more of [0, 1]) {
        if (!isSampled()) continue;
        const where = `record ${from + 1}, then ${seq} and ${more} more`;
        const world = new TurnWorld();
        const rest = repaired.filter((record) => record.seq < seq || record.seq > seq + more);
        const note = encode([behind], { ...at, epoch: 9, expectedSeq: repaired.at(-1)?.seq ?? 0 });
        await world.store.restore({ session: "s", head: {}, batches: once([...rest, ...note]) });
        const session = await openSession(world.process(), "s");
        await assert.rejects(session.run(agentOf([]), "go on").result, { code: "CORRUPT" }, where);
        const { verdicts } = await checkSession(world.process(), "s", { repair: true });
        assert.deepEqual(
          verdicts.flatMap(({ violations }) => violations),
          [],
          where,
        );
        const result = await world.effects.run(session.run(agentOf([[...say("here"), finish()]]), "go on").result);
        assert.equal(result.outcome.type, "completed", where);
        assertLawful(await session.entries(), where);
      }
    }
  }
});

test("a turn of which a hole has left no id: its call is in doubt, and the repair says what it has closed", async () => {
  const records = encode([{ type: "session.created" }, ...turnEvents(1, "ab").slice(0, 6)], at);
  const world = new TurnWorld();
  const left = records.filter(({ type }) => type === "session.created" || type === "message.committed");
  await world.store.restore({ session: "s", head: {}, batches: once(left) });
  const { findings } = await checkSession(world.process(), "s", { repair: true });
  assert.equal(findings.at(-1)?.what, "closed a turn whose id is lost, 1 calls without a result");
  const entries = await (await openSession(world.process(), "s")).entries();
  assert.deepEqual(codesOf(entries), [["attempt-1a-1", "TOOL_OUTCOME_UNKNOWN"]]);
  assert.deepEqual(eventsOf(entries, "turn.ended"), []);
});

test("L4: a read that was entered before its message, and whose entry is lost, is unknown, not not-started", async () => {
  const [input, turn, step, attempt, ended, message] = turnEvents(1, "ab");
  assert.ok(input && turn && step && attempt && ended && message);
  const records = encode([{ type: "session.created" }, input, turn, step, attempt, earlyEntry, ended, message], at);
  const world = new TurnWorld();
  const left = records.filter(({ type }) => type !== "tool.entered");
  await world.store.restore({ session: "s", head: { openTurn: "turn-1" }, batches: once(left) });
  await checkSession(world.process(), "s", { repair: true });
  const settled = eventsOf(await (await openSession(world.process(), "s")).entries(), "tool.settled");
  assert.deepEqual(
    settled.map(({ call, output }) => [call, output.code]),
    [["attempt-1a-1", "TOOL_OUTCOME_UNKNOWN"]],
  );
});

test("L1: what was said lay in holes, and the turn is continued: the request says that the beginning is missing", async () => {
  const { turn, said } = await continuedPastHoles();
  assert.equal(turn.outcome.type, "completed");
  assert.deepEqual(said, [
    { role: "user", content: [{ type: "text", text: "[The beginning of this conversation is missing.]" }] },
  ]);
});

/** A turn that was stopped, of which only its end is left. */
async function continuedPastHoles() {
  const records = encode([{ type: "session.created" }, ...turnEvents(1, "ab")], at);
  const kept = records.filter(({ type }) => type !== "input.accepted" && type !== "message.committed");
  const world = new TurnWorld();
  const stopped = encode([{ type: "turn.ended", turn: "turn-1", outcome: { type: "aborted" } }], {
    ...at,
    expectedSeq: records.length - 1,
  });
  await world.store.restore({ session: "s", head: {}, batches: once([...kept.slice(0, -1), ...stopped]) });
  await checkSession(world.process(), "s", { repair: true });
  const session = await openSession(world.process(), "s");
  const agent = agentOf([[...say("here"), finish()]]);
  const turn = await world.effects.run(session.continue(agent).result);
  assertLawful(await session.entries());
  return { turn, said: agent.model.requests[0]?.prompt };
}

test("a log whose order no hole explains is not mended by a guess: it stays as it is, and says what can be done", async () => {
  const world = new TurnWorld();
  const started = { type: "turn.started" as const, inputs: [] };
  const records = encode(
    [
      { type: "session.created" },
      { ...started, turn: "t1" },
      { ...started, turn: "t2" },
      { type: "note.recorded", about: "t2", text: "lost" },
      { type: "note.recorded", about: "t2", text: "kept" },
    ],
    at,
  );
  await world.store.restore({ session: "s", head: {}, batches: once(records.filter(({ seq }) => seq !== 4)) });
  await assert.rejects(checkSession(world.process(), "s", { repair: true }), {
    code: "SESSION_READ_ONLY",
    message: /^session s: a turn starts at 3 while turn t1 is open, .*fork it at 2$/,
  });
  assert.equal((await world.store.get("s"))?.seq, 5);
  const { lease } = (await world.store.get("s")) ?? {};
  assert.equal(lease, undefined, "the lease is given back");
});
