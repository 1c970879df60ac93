/** A process that falls asleep in the middle of what it was asked for, while another drives: awake again, it says what is true. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import type { Store } from "../src/store/store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession, type Session, type Turn } from "../src/turn/session.ts";
import { sampler } from "./ground.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

const act = defineTool({ inputSchema: { type: "object" as const }, execute: () => "acted" });
const calling: ScriptEntry = [...call("act", {}), finish("tool-calls")];
const answer: ScriptEntry = [...say("done"), finish()];
const refused: ScriptEntry = { reject: Object.assign(new Error("no credit"), { statusCode: 402 }) };
const agent = () => agentOf([calling, answer, answer], { tools: { act } });

/** A call to the store: it has not left when its process falls asleep, or its answer comes when it wakes. */
type Where = "before" | "after";

/**
 * The store of a process that falls asleep once, where `fallsAsleep` says. What it asks of its lease stays without an answer:
 * that this is lost, it has to learn in another way.
 */
function sleeper(store: Store, fallsAsleep: (name: string, nth: number) => Where | undefined) {
  const asleep = deferred<boolean>();
  const wakes = deferred();
  let calls = 0;
  const dozing = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name === "watch") return member.bind(target);
      if (name === "renewLease") return () => new Promise(() => {});
      return async (...given: unknown[]): Promise<unknown> => {
        calls += 1;
        const where = fallsAsleep(String(name), calls);
        const reach = () => Reflect.apply(member, target, given);
        if (where === undefined) return reach();
        const answered = where === "after" ? await reach() : undefined;
        asleep.resolve(true);
        await wakes.promise;
        return where === "after" ? answered : reach();
      };
    },
  });
  return { store: dozing, asleep: asleep.promise, wake: () => wakes.resolve() };
}

type Last = "open" | "failed" | "none";

/** Its session's last turn was left open by a dead driver, or failed; or there is none. */
async function worldWith(last: Last): Promise<TurnWorld> {
  const world = new TurnWorld();
  await world.session();
  if (last === "none") return world;
  const process = world.process();
  const end: ScriptEntry = last === "failed" ? refused : [...say("half"), { silence: true }];
  const turn = (await openSession(process, "s")).run(agentOf([calling, end], { tools: { act } }), "go");
  await world.effects.run<unknown>(last === "failed" ? turn.result : untilSaid(turn));
  process.die();
  return world;
}

async function untilSaid(turn: Turn): Promise<void> {
  for await (const item of turn) if (item.type === "part.delta" && item.kind === "text") return;
}

const doings: { [name: string]: (session: Session, input: string) => Turn } = {
  run: (session, input) => session.run(agent(), input, { id: `in_${input}` }),
  resume: (session) => session.resume(agent()),
  settle: (session) => session.settle(agent()),
  continue: (session) => session.continue(agent()),
};

describe("a process that slept while another drove", () => {
  test("L8: a run whose input the other has driven to its end says so", async () => {
    const world = await worldWith("none");
    const { store, asleep, wake } = sleeper(world.store, (name) => (name === "post" ? "after" : undefined));
    const process = world.process(store);
    const mine = (await openSession(process, "s")).run(agentOf([]), "mine", { id: "in_mine" });
    await world.effects.run(asleep);
    process.die();
    const session = await world.open();
    await world.effects.run(session.run(agent(), "theirs").result);
    const before = await session.entries();
    wake();
    await assert.rejects(world.effects.run(mine.result), {
      code: "FENCED",
      message: /another process took over and has had the input in_mine; the log tells what became of it/,
    });
    assert.deepEqual(await session.entries(), before);
    const [started] = eventsOf(before, "turn.started");
    assert.deepEqual([started?.inputs, await world.mailbox()], [["in_mine"], []]);
  });

  test("L8: a run that slept past its lease before its post leaves no input behind", async () => {
    const world = await worldWith("none");
    const { store, asleep, wake } = sleeper(world.store, (name) => (name === "loadSnapshot" ? "after" : undefined));
    const mine = (await openSession(world.process(store), "s")).run(agentOf([]), "mine", { id: "in_mine" });
    await world.effects.run(asleep);
    world.effects.advance(limit.leaseMs);
    const session = await world.open();
    await world.effects.run(session.run(agent(), "theirs", { id: "in_theirs" }).result);
    wake();
    await assert.rejects(world.effects.run(mine.result), { code: "FENCED" });
    assert.deepEqual([world.accepted(), await world.mailbox()], [["in_theirs"], []]);
  });

  const asked = [
    ["run", "none"],
    ["run", "open"],
    ["run", "failed"],
    ["resume", "open"],
    ["settle", "open"],
    ["continue", "failed"],
    ["continue", "open"],
  ] as const;
  for (const [mode, last] of asked) {
    test(`${mode}, where the last turn is ${last}: at whatever call it slept, it tells the log's own end, or that it came too late`, async () => {
      const isPlayed = sampler();
      let played = 0;
      for (const other of Object.keys(doings))
        for (const where of ["before", "after"] as const)
          for (let nth = 1; nth <= mostCalls; nth += 1) {
            if (!isPlayed()) continue;
            if (!(await sleeps({ mode, last, other, where, nth }))) break;
            played += 1;
          }
      assert.ok(played > 0);
    });
  }
});

/** More than any of these makes. */
const mostCalls = 30;

interface Case {
  mode: string;
  last: Last;
  other: string;
  where: Where;
  nth: number;
}

/** False where it has not asked the store so often. */
async function sleeps({ mode, last, other, where, nth }: Case): Promise<boolean> {
  const world = await worldWith(last);
  const { store, asleep, wake } = sleeper(world.store, (_, call) => (call === nth ? where : undefined));
  const process = world.process(store);
  const told = (async () => doings[mode]?.(await openSession(process, "s"), "mine").result)().catch((error) => error);
  if ((await world.effects.run(Promise.race([asleep, told]))) !== true) return false;
  process.die();
  const session = await world.open();
  // There may be nothing to do for the other either.
  await world.effects.run(Promise.resolve(doings[other]?.(session, "theirs").result)).catch(() => {});
  wake();
  const end: unknown = await world.effects.run(told);
  const entries = await session.entries();
  const at = `${other} meanwhile, ${where} call ${nth}: ${end}`;
  const isLate = isPawlError(end, "FENCED") || (mode !== "run" && isPawlError(end, "INVALID_INPUT"));
  if (!isLate) {
    const { turn, outcome } = { turn: "", outcome: undefined, ...(end as object) };
    assert.deepEqual(eventsOf(entries, "turn.ended").find((event) => event.turn === turn)?.outcome, outcome, at);
    assert.ok(outcome, at);
  }
  const inputs = eventsOf(entries, "input.accepted").map(({ input }) => input);
  assert.deepEqual([...inputs, ...(await world.mailbox())].sort(), [...world.accepted()].sort(), at);
  assertLawful(entries, at);
  return true;
}
