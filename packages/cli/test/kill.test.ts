/** `kill -9` at any moment: what was printed is there, byte for byte; the session reads as interrupted; both ways go on. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openSession, verify } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import type { Entry, ModelServer, RecordedRequest } from "@pawl/model-server";
import { firstLineOf, lastLine, World } from "./pawl-world.ts";

const tools: Entry = [
  { reason: "First look.", chunks: 2 },
  { text: "I look and count.", chunks: 3 },
  { call: "ls", input: {} },
  { call: "bash", input: { command: "echo counted >> count.txt" } },
];

/** Answers any history: tools first, then, once they have results, words; the first words break off. */
function answers(): (request: RecordedRequest) => Entry {
  let broken = false;
  return ({ body }) => {
    if (body.includes("go on")) return [{ text: "Gone on." }];
    if (!/"role":"tool"/.test(body)) return tools;
    if (broken) return [{ text: "It is done." }];
    broken = true;
    return [{ text: "It is do" }, { end: true }];
  };
}

function judged(server: ModelServer): void {
  assert.deepEqual(
    server.requests.flatMap(({ verdict }) => verdict.violations),
    [],
  );
}

/** The log as `pawl show --json` prints it, read in this process: the loop below starts enough of others. */
async function looked(world: World, session: string): Promise<{ lines: string[]; broken: unknown[]; status: string }> {
  const runtime = await openRuntime({ dir: world.store });
  try {
    const entries = await (await openSession(runtime, session)).entries();
    const summary = await runtime.store.get(session);
    const open = summary?.lease ? "running" : "interrupted";
    return {
      lines: entries.map(({ seq, time, event }) => JSON.stringify({ seq, time, ...event })),
      broken: verify(entries).flatMap(({ violations }) => violations),
      status: summary?.head.openTurn === undefined ? (summary?.head.outcome ?? "new") : open,
    };
  } finally {
    await runtime.store.close();
  }
}

/** After a kill: nothing that was printed is lost, no law broken. */
function kept(lines: readonly string[], printed: readonly string[]): void {
  for (const line of printed) assert.ok(lines.includes(line), `printed and not in the log: ${line}`);
}

const eventsIn = (lines: readonly string[]) => lines.filter((line) => line.startsWith('{"seq":'));

test("killed at each event that it prints: all printed is kept, then resume or a new input goes on", async (t) => {
  const world = new World(t);
  const whole = await world.server(answers());
  const first = await world.pawl(["run", "count", "--json", "--yes", "--session", "whole", ...world.place(whole)]);
  const events = first.stdout.trimEnd().split("\n").length - 1;
  assert.ok(events > 15, `${events} events`);
  for (let k = 1; k <= events; k += 1) await killedAt(t, k);
});

async function killedAt(t: TestContext, k: number): Promise<void> {
  const world = new World(t);
  const server = await world.server(answers());
  const place = [...world.place(server), "--yes", "--json"];
  const running = world.start(["run", "count", "--session", "k", ...place]);
  await running.linesSeen(k);
  running.kill("SIGKILL");
  await running.ended;
  const printed = eventsIn(running.lines);
  assert.ok(printed.length >= k, `event ${k} was printed`);
  const before = await looked(world, "k");
  kept(before.lines, printed);
  assert.deepEqual(before.broken, []);
  const has = (type: string) => before.lines.some((line) => line.includes(`"type":"${type}"`));
  const expected = has("turn.ended") ? "completed" : has("turn.started") ? "interrupted" : "new";
  assert.equal(before.status, expected, `after event ${k}`);
  const way = k % 2 === 0 && expected === "interrupted" ? ["resume", "k"] : ["run", "go on", "--session", "k"];
  const next = await world.pawl([...way, ...place]);
  assert.equal(next.code, 0, `event ${k}, ${way[0]}: ${next.stderr}`);
  assert.equal(lastLine(next.stdout).text, way[0] === "resume" ? "It is done." : "Gone on.");
  const after = await looked(world, "k");
  assert.deepEqual(after.broken, []);
  assert.deepEqual(after.lines.slice(0, before.lines.length), before.lines, "a record changed");
  judged(server);
  const count = spawnSync("cat", [join(world.work, "count.txt")], { encoding: "utf8" }).stdout;
  assert.ok(count === "" || count === "counted\n", `the command ran at most once: ${count}`);
}

const moments: [string, Entry][] = [
  ["before the first byte", [{ hold: "here" }]],
  ["after the headers", [{ headers: true }, { hold: "here" }]],
  ["in reasoning", [{ reason: "Let me think about it.", chunks: 2, upTo: 1 }, { hold: "here" }]],
  ["in text", [{ reason: "Hm." }, { text: "Let me say it.", chunks: 2, upTo: 1 }, { hold: "here" }]],
  ["in the arguments of a call", [{ call: "ls", input: '{"path":"."}', split: [5], upTo: 1 }, { hold: "here" }]],
];

for (const [moment, entry] of moments) {
  test(`killed ${moment}: interrupted, and both resume and a new input go on`, async (t) => {
    for (const way of [
      ["resume", "m"],
      ["run", "go on", "--session", "m"],
    ]) {
      const world = new World(t);
      const server = await world.server([entry, [{ text: "Here it is." }]]);
      const place = [...world.place(server, "anthropic"), "--json"];
      const running = world.start(["run", "Say it", "--session", "m", ...place]);
      await server.held("here");
      running.kill("SIGKILL");
      await running.ended;
      const { status, broken } = await looked(world, "m");
      assert.deepEqual([status, broken], ["interrupted", []]);
      kept(await world.shown("m"), running.lines);
      const next = await world.pawl([...way, ...place]);
      assert.deepEqual([next.code, lastLine(next.stdout).text], [0, "Here it is."], next.stderr);
      judged(server);
      assert.equal((await world.verified("m")).code, 0);
    }
  });
}

test("killed inside a command: it is never run again, its outcome is told as unknown", async (t) => {
  for (const way of [
    ["resume", "c"],
    ["run", "go on", "--session", "c"],
  ]) {
    const world = new World(t);
    const started = join(world.work, "started");
    const gate = join(world.work, "gate");
    spawnSync("mkfifo", [started, gate]);
    const command = "echo ran >> ran.txt; echo up > started; read line < gate";
    const server = await world.server([[{ call: "bash", input: { command } }], [{ text: "I looked." }]]);
    const place = [...world.place(server, "responses"), "--yes", "--json"];
    const running = world.start(["run", "Run it", "--session", "c", ...place]);
    assert.equal(await firstLineOf(started), "up");
    running.kill("SIGKILL");
    await running.ended;
    // What it left running ends now, before anybody looks.
    writeSync(openSync(gate, "r+"), "\n");
    const { status, lines, broken } = await looked(world, "c");
    assert.deepEqual([status, broken], ["interrupted", []]);
    kept(lines, running.lines);
    const next = await world.pawl([...way, ...place]);
    assert.deepEqual([next.code, lastLine(next.stdout).text], [0, "I looked."], next.stderr);
    assert.match(server.requests.at(-1)?.body ?? "", /TOOL_OUTCOME_UNKNOWN/);
    assert.equal(world.read("ran.txt"), "ran\n");
    judged(server);
  }
});
