/** Every scenario of the universal crash test, watched from another process while the driver stops at every append. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../src/store/store.ts";
import { faultyStore, type StoreFault } from "../src/testing/faulty-store.ts";
import { finish, say } from "../src/testing/model.ts";
import { openSession } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { Outside, play, type Scenario, scenarios, toolsOf } from "./turn-scenario.ts";
import { agentOf } from "./turn-world.ts";
import { pass, slowly, type WatchGround, Watching } from "./watch-world.ts";

/** Resolves with how many appends the first driver made. */
async function watched(
  ground: WatchGround,
  scenario: Scenario,
  fault: StoreFault | undefined,
  where: string,
): Promise<number> {
  const world = await ground.world();
  const other = await world.session();
  const watching = new Watching(await world.open());
  const store = faultyStore(world.store, fault);
  const process = world.process(store);
  const stage = { world, session: await openSession(process, "s"), other, outside: new Outside() };
  await play(stage, scenario);
  process.die();
  const middle = new Watching(await world.open(), Math.floor(((await other.summary())?.seq ?? 0) / 2));
  const agent = agentOf(Array(6).fill([...say("recovered"), finish()]), {
    tools: toolsOf(stage, scenario),
    ...scenario.agent?.(stage),
  });
  const isOpen = (await other.summary())?.head.openTurn !== undefined;
  const next = await openSession(world.process(), "s");
  await world.effects.run((isOpen ? next.resume(agent) : next.run(agent, "and now?")).result).catch(() => {});
  await pass(world, 500);
  const entries = await other.entries();
  for (const one of [watching, middle]) {
    await one.stop();
    assert.deepEqual(one.transcript, transcriptOf(entries), where);
    const from = entries.length - one.seqs.length;
    assert.deepEqual(
      one.seqs,
      entries.slice(from).map(({ seq }) => seq),
      where,
    );
  }
  assert.equal(watching.seqs.length, entries.length, where);
  return store.appends;
}

/** Calls `on` ahead of the nth call; `watches` counts those that have not ended. */
function counting(store: Store, on: (nth: number) => void): { store: Store; watches(): number } {
  let calls = 0;
  let watches = 0;
  const watch: Store["watch"] = (...given) => {
    const stop = store.watch(...given);
    watches += 1;
    return () => {
      watches -= 1;
      stop();
    };
  };
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === "watch") return watch;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        on(++calls);
        return Reflect.apply(member, target, given);
      };
    },
  });
  return { store: counted, watches: () => watches };
}

export function watchingThroughCrashes(name: string, ground: WatchGround): void {
  let cases = 0;
  describe(`watching through a crash: ${name}`, () => {
    for (const scenario of scenarios) {
      test(`${scenario.title}: what is seen from elsewhere is what the log says`, async () => {
        const appends = await watched(ground, scenario, undefined, "no fault");
        for (let append = 1; append <= appends; append += 1) {
          for (const where of ["before", "after"] as const)
            if (cases++ % (ground.oneOf ?? 1) === 0)
              await watched(
                ground,
                scenario,
                { append, where, lasts: "for-good" },
                `append ${append} of ${appends}, ${where}`,
              );
        }
      });
    }
  });

  test(`left at whatever moment: no error, and nothing of it stays: ${name}`, async () => {
    let reached = 0;
    for (let at = 1; at <= reached + 1; at += 1) {
      const world = await ground.world();
      const session = await world.session();
      const end = new AbortController();
      const { store, watches } = counting(world.store, (nth) => {
        reached = Math.min(Math.max(reached, nth), 40);
        if (nth === at) end.abort();
      });
      const other = await openSession(world.process(store), "s");
      const watching = (async () => {
        for await (const item of other.watch({ signal: end.signal }))
          assert.ok(!end.signal.aborted, `told ${item.type} after leaving`);
      })();
      await world.effects.run(session.run(agentOf([[...slowly(world, "one two three", 200), finish()]]), "go").result);
      await pass(world, 200);
      end.abort();
      await watching;
      assert.equal(watches(), 0);
      assert.equal(world.effects.waiting, 0, `left at call ${at}`);
    }
    assert.ok(reached > 10, `${reached} calls`);
  });

  test(`records that an operator has erased are shown as the log now has them: ${name}`, async () => {
    const world = await ground.world();
    const session = await world.session();
    await world.effects.run(session.run(agentOf([[...say("my secret"), finish()]]), "tell me").result);
    const { erasePayload } = await import("../src/log/redaction.ts");
    const records = await world.store.read("s");
    const lease = await world.store.acquireLease("s", world.process().holder, 1_000);
    assert.ok(lease.granted);
    for (const record of records.filter(({ type }) => type === "message.committed" || type === "input.accepted"))
      await world.store.erase({ session: "s", epoch: lease.epoch, seq: record.seq, payload: erasePayload(record) });
    const watching = new Watching(await world.open());
    await world.effects.settle();
    await watching.stop();
    assert.deepEqual(watching.transcript, transcriptOf(await session.entries()));
    assert.deepEqual([...watching.words.values()], ["[erased]"]);
  });
}
