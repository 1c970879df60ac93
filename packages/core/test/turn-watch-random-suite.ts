/**
 * Any run of any drivers, watched from other processes: the driver dies at any append or write of the journal, loses writes,
 * and others go on. What is seen is what the log says, and at each moment a beginning of what was said.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Store } from "../src/store/store.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, type ScriptStep, say, think } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession, type Turn } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { agentOf, assertLawful, type TurnWorld } from "./turn-world.ts";
import { pass, pause, slowly, type WatchGround, Watching } from "./watch-world.ts";

const reset: ScriptStep = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
const long = "word ".repeat(1_500);

/** Answers by name: each takes the world's time. */
const answers: { [name: string]: (world: TurnWorld) => ScriptEntry } = {
  words: (world) => [...slowly(world, "one two three", 150), finish()],
  "thought, words, call": (world) => [
    ...think("let me see"),
    ...slowly(world, "I act", 200),
    ...call("act", {}, "c1"),
    finish("tool-calls"),
  ],
  "words, and a wait behind them": (world) => [
    ...slowly(world, "one two three four", 200),
    pause(world, 600),
    ...say("and five", "2"),
    finish(),
  ],
  "two at once": (world) => [
    { type: "text-start", id: "1" },
    { type: "reasoning-start", id: "2" },
    ...[1, 2, 3].flatMap((n): ScriptStep[] => [
      { type: "text-delta", id: "1", delta: `t${n} ` },
      pause(world, 120),
      { type: "reasoning-delta", id: "2", delta: `r${n} ` },
    ]),
    finish(),
  ],
  long: (world) => [...say(long), pause(world, 150), ...say(long, "2"), finish()],
  "broken words": (world) => [...slowly(world, "this breaks off", 200), reset],
  "broken thought": (world) => [...think("hm"), pause(world, 300), reset],
  "broken call": (world) => [...call("act", { a: "much to do" }, "c2"), pause(world, 300), reset],
  "a call by the provider, broken": (world) => [
    { type: "tool-input-start", id: "p", toolName: "search", providerExecuted: true },
    { type: "tool-input-delta", id: "p", delta: '{"q":1}' },
    pause(world, 300),
    reset,
  ],
  empty: () => [finish()],
  refused: () => ({ reject: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }),
};

const life = fc.record({
  script: fc.array(fc.constantFrom(...Object.keys(answers)), { minLength: 1, maxLength: 5 }),
  /** Which append fails for good, if any. */
  append: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  where: fc.constantFrom("before" as const, "inside" as const, "after" as const),
  /** Of the journal's writes: those that are lost, and the one behind which the process is gone. */
  lost: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
  deadAfter: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  /** When another watcher comes, and from where. */
  joinsAt: fc.integer({ min: 0, max: 1_500 }),
  after: fc.nat(),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

/** The store as the dying process has it. */
function mortal(store: Store, { append, where, lost, deadAfter }: Life): Store & { readonly dead: boolean } {
  const faulty = faultyStore(store, append === undefined ? undefined : { append, where, lasts: "for-good" });
  let writes = 0;
  let dead = false;
  return new Proxy(faulty, {
    get(target, name) {
      if (name === "dead") return dead || faulty.failed;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || name === "watch" || name === "close") return member;
      return async (...given: unknown[]) => {
        if (dead) throw new Error("the process is gone");
        if (name !== "writePartial") return Reflect.apply(member, target, given);
        writes += 1;
        if (lost.includes(writes)) throw new Error("a write is lost");
        const written = await Reflect.apply(member, target, given);
        dead = writes === deadAfter;
        return written;
      };
    },
  }) as unknown as Store & { readonly dead: boolean };
}

/** Every word of each part as its own driver told it. */
async function listen(turn: Turn, said: Map<string, string>): Promise<void> {
  for await (const item of turn)
    if (item.type === "part.delta") said.set(item.part, (said.get(item.part) ?? "") + item.text);
}

async function lived(world: TurnWorld, each: Life, said: Map<string, string>): Promise<Watching> {
  const store = mortal(world.store, each);
  const process = world.process(store);
  const session = await openSession(process, "s");
  const act = defineTool<unknown>({ inputSchema: { type: "object" }, execute: () => "ok" });
  const script = [...each.script, ...each.script].map((name) => answers[name]?.(world) ?? []);
  const agent = agentOf(script, { tools: { act }, stepsPerTurn: 6 });
  const summary = await session.summary();
  const turn = summary?.head.openTurn === undefined ? session.run(agent, "go") : session.resume(agent);
  let over = false;
  const done = turn.result.then(
    () => true,
    () => true,
  );
  void done.then(() => {
    over = true;
  });
  const heard = listen(turn, said);
  await pass(world, each.joinsAt);
  const seq = (await world.store.get("s"))?.seq ?? 0;
  const joined = new Watching(await world.open(), each.after % (seq + 1));
  for (let waits = 0; !over && !store.dead && waits < 4_000; waits += 1) await pass(world, 200);
  process.die();
  if (over) await heard;
  return joined;
}

type Entries = Parameters<typeof assertLawful>[0];

/** A package may have put the whole input in place of what it streamed. */
function isCall(entries: Entries, part: string): boolean {
  return entries.some(
    ({ event }) =>
      event.type === "message.committed" && event.parts.some((one) => one.type === "tool-call" && one.id === part),
  );
}

/** Of each message that began before its eyes a watcher has been told every word. */
function assertComplete({ words, seqs }: Watching, entries: Entries): void {
  for (const { seq, event } of entries) {
    if (event.type !== "message.committed" || seq <= (seqs[0] ?? 0)) continue;
    for (const part of event.parts) {
      if (part.type === "text" || part.type === "reasoning") assert.equal(words.get(part.id), part.text);
      if (part.type === "tool-call") assert.equal(words.get(part.id), part.input);
    }
  }
}

export function watchingAnyRun(name: string, ground: WatchGround): void {
  test(`L2 L3: whatever breaks, whoever dies and takes over, watchers see what the log says, each word once: ${name}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 3 }), async (lives) => {
        const world = await ground.world();
        await world.session();
        const said = new Map<string, string>();
        const watchers = [new Watching(await world.open())];
        for (const each of lives) watchers.push(await lived(world, each, said));
        const calm: Life = {
          script: ["words"],
          append: undefined,
          where: "after",
          lost: [],
          deadAfter: undefined,
          joinsAt: 0,
          after: 0,
        };
        watchers.push(await lived(world, calm, said));
        await pass(world, 2_000);
        const entries = await (await world.open()).entries();
        assertLawful(entries);
        for (const one of watchers) {
          await one.stop();
          const from = entries.length - one.seqs.length;
          assert.deepEqual(
            one.seqs,
            entries.slice(from).map(({ seq }) => seq),
            "every fact once, in order",
          );
          assert.deepEqual(one.transcript, transcriptOf(entries));
          for (const [part, words] of one.words)
            assert.ok((said.get(part) ?? "").startsWith(words) || isCall(entries, part), `${part}: ${words}`);
          assertComplete(one, entries);
        }
        assert.equal(world.effects.waiting, 0, "nothing polls an idle session");
      }),
      { numRuns: Math.ceil(60 / (ground.oneOf ?? 1)) },
    );
  });
}
