/**
 * The universal crash test: every scenario, stopped at every append, in every way; then opened again in every mode, and
 * once more. Whatever the moment: the laws hold, no write ran twice, no accepted input is gone, no request is unpaired.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runFold } from "../src/log/fold.ts";
import { faultyStore, type StoreFault } from "../src/testing/faulty-store.ts";
import { finish, say } from "../src/testing/model.ts";
import { forkSession, openSession, type Session } from "../src/turn/session.ts";
import { turnFold } from "../src/turn/state.ts";
import { type Transcript, transcriptOf } from "../src/view/transcript.ts";
import { sampler } from "./ground.ts";
import { Outside, play, type Scenario, type Stage, scenarios, toolsOf } from "./turn-scenario.ts";
import { agentOf, assertLawful, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const modes = ["resume", "new input", "fork"] as const;
type Mode = (typeof modes)[number];

interface Crashed extends Stage {
  /** What the first process ended with; undefined for an ordinary end. */
  error: unknown;
  seen: Transcript;
  /** What the log held before. */
  began: number;
  appends: number;
}

/** Plays a scenario in a process whose store fails, up to that process's death. */
async function crash(scenario: Scenario, fault?: StoreFault): Promise<Crashed> {
  const world = new TurnWorld();
  const other = await world.session();
  const store = faultyStore(world.store, fault);
  const process = world.process(store);
  const session = await openSession(process, "s");
  const stage = { world, session, other, outside: new Outside() };
  const end = await play(stage, scenario);
  process.die();
  return { ...stage, ...end, appends: store.appends };
}

/** Opens what a dead process left, in a new one that may die as well, and drives it to its end. */
async function recover(
  { world, ...stage }: Stage,
  scenario: Scenario,
  mode: Mode,
  fault?: StoreFault,
): Promise<Session> {
  const process = world.process(faultyStore(world.store, fault));
  const parent = await openSession(process, "s");
  const agent = agentOf(Array(6).fill([...say("recovered"), finish()]), {
    tools: toolsOf({ world, ...stage }, scenario),
    ...scenario.agent?.({ world, ...stage }),
  });
  const seq = (await parent.summary())?.seq ?? 0;
  const session =
    mode === "fork"
      ? await forkSession(process, { session: "s", seq }, `fork-${seq}-${world.effects.id("f")}`)
      : parent;
  const turn = mode === "resume" ? session.resume(agent) : session.run(agent, "and now?");
  await world.effects.run(turn.result).catch(() => {});
  process.die();
  return openSession(world.process(), session.id);
}

async function isOpen(session: Session): Promise<boolean> {
  return runFold(turnFold, await session.entries()).turn !== undefined;
}

async function assertSound(stage: Stage, session: Session, where: string): Promise<void> {
  const entries = await session.entries();
  assertLawful(entries, where);
  for (const [call, times] of stage.outside.entered) assert.ok(times <= 1, `L4: ${call} ran ${times} times; ${where}`);
  const there = [
    ...eventsOf(entries, "input.accepted").map((event) => event.input),
    ...eventsOf(entries, "note.recorded").flatMap(({ about, text }) => (text.startsWith("handed back") ? about : [])),
    ...(await stage.world.mailbox(session.id)),
  ];
  for (const post of stage.world.accepted(session.id)) {
    assert.equal(there.filter((id) => id === post).length, 1, `L3: ${post} is there once; ${where}`);
  }
}

/** What bodies gave while their process could still write is what the log says, not an invented unknown. */
async function assertResultsKept({ outside, session }: Stage, where: string): Promise<void> {
  const settled = new Map(eventsOf(await session.entries(), "tool.settled").map((event) => [event.call, event]));
  for (const [call, text] of outside.gave)
    assert.equal(outputText(settled.get(call)?.output ?? { content: [], isError: true }), text, where);
}

async function everyFault(
  scenario: Scenario,
  visit: (fault: StoreFault, where: string) => Promise<void>,
): Promise<void> {
  const { appends } = await crash(scenario);
  for (let append = 1; append <= appends; append += 1) {
    for (const where of ["before", "inside", "after"] as const) {
      for (const lasts of ["once", "for-good"] as const) {
        await visit({ append, where, lasts }, `append ${append} of ${appends}, ${where}, ${lasts}`);
      }
    }
  }
}

const isSampled = sampler();

for (const scenario of scenarios) {
  test(`L3 L4 L7: ${scenario.title}, stopped at every append, then opened in every mode, twice`, async () => {
    await everyFault(scenario, async (fault, where) => {
      for (const mode of modes) {
        if (!isSampled()) continue;
        const crashed = await crash(scenario, fault);
        await assertSound(crashed, crashed.other, where);
        const once = await recover(crashed, scenario, mode);
        await assertSound(crashed, once, `${where}; ${mode}`);
        if (mode !== "resume") assert.equal(await isOpen(once), false, `${where}; ${mode}: a turn is open`);
        const before = await once.entries();
        const again = await recover(crashed, scenario, "resume");
        if (mode === "resume")
          assert.deepEqual(await again.entries(), before, `${where}: the second recovery has nothing to do`);
        await assertSound(crashed, again, `${where}; ${mode}, twice`);
        assert.equal(await isOpen(again), false, `${where}; ${mode}, twice: a turn is open`);
      }
    });
  });

  test(`L7: ${scenario.title}: where an append fails once, the turn ends with the store's failure and its results`, async () => {
    await everyFault(scenario, async (fault, where) => {
      if (fault.lasts === "for-good" || !isSampled()) return;
      const crashed = await crash(scenario, fault);
      await assertResultsKept(crashed, where);
      // Rejected only where no turn was there to be ended.
      assert.equal(await isOpen(crashed.other), false, where);
      assert.deepEqual(
        crashed.seen,
        transcriptOf((await crashed.other.entries()).filter(({ seq }) => seq > crashed.began)),
        `what was seen is what the log says; ${where}`,
      );
    });
  });
}

for (const scenario of scenarios.slice(1, 4)) {
  test(`L3 L4: ${scenario.title}, and recovery itself is stopped at every append`, async () => {
    const { appends } = await crash(scenario);
    for (let append = 1; append <= appends; append += 1) {
      for (const mode of ["resume", "new input"] as const) {
        for (let inner = 1; inner <= 4; inner += 1) {
          for (const where of ["before", "after"] as const) {
            if (!isSampled()) continue;
            const crashed = await crash(scenario, { append, where, lasts: "for-good" });
            await recover(crashed, scenario, mode, { append: inner, where, lasts: "for-good" });
            const last = await recover(crashed, scenario, "resume");
            await assertSound(crashed, last, `append ${append}, then ${inner}, ${where}, ${mode}`);
            assert.equal(await isOpen(last), false);
          }
        }
      }
    }
  });
}
