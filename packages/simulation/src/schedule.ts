/**
 * One schedule: a seed, what may go wrong with it, and whether a law broke.
 *
 * First anything may happen, and the laws must hold at every step; then the faults stop, and every session must come to
 * an end within a bound, and take a new input.
 */
import { createSession } from "@pawl/core";
import { mended, pass, patienceMs, type Stage, watchersSee, workersFinish } from "./calm.ts";
import { Damage } from "./damage.ts";
import { Disk, StoreClock } from "./disk.ts";
import { Fate } from "./fate.ts";
import { type Ground, memoryGround, owing } from "./ground.ts";
import { type Drive, People } from "./people.ts";
import type { Plot } from "./plot.ts";
import { Random } from "./random.ts";
import { type Breach, Referee } from "./referee.ts";
import { drawSettings, type Settings } from "./settings.ts";
import { World } from "./world.ts";

export interface Result {
  seed: number;
  settings: Settings;
  breaches: Breach[];
  /** Of everything that happened, in order. */
  hash: number;
  /** The last things that happened before the first breach. */
  labels: readonly string[];
  happened: number;
  sessions: number;
  records: number;
}

/** So many things happen while anything may go wrong, and at most so many until all is quiet again. */
const wildEvents = 3_000;
const calmEvents = 30_000;
/** A session takes an input at the latest so many tries after the faults have stopped. */
const tries = 8;
/** Between a seed and that of what is rare: beyond all that anybody runs. */
const apart = 2 ** 50;

export async function runSchedule(
  seed: number,
  change: Partial<Settings> = {},
  plot?: Plot,
  ground: Ground = memoryGround,
): Promise<Result> {
  // Between schedules the event loop turns once: what the engine tidies up, it tidies up there.
  await new Promise((resolve) => setImmediate(resolve));
  const world = new World(seed);
  const rare = new Random(seed + apart);
  const settings = { ...drawSettings(world.random, rare), ...change };
  const watchful = settings.tasks + settings.strictSnapshots > 0;
  const referee = new Referee(world, { steady: settings.clockJump === 0, rare: watchful });
  const people: { now?: People } = {};
  const isAlive = (holder: string) => people.now?.processes.find(({ name }) => name === holder)?.alive;
  const isDead = (holder: string) => settings.remote === 0 && isAlive(holder) === false;
  const clock = new StoreClock(world);
  const opened = await ground.open({ clock, isAlive: ({ id }) => (isDead(id) ? false : undefined) });
  const damage = settings.damage > 0 ? new Damage(rare) : undefined;
  const whole = ground.answers === "later" ? owing(opened, world) : opened;
  const disk = new Disk(world, settings, referee, { store: damage ? damage.over(whole) : whole, clock });
  const town = new People(world, disk, settings, referee, plot);
  people.now = town;
  const fate = new Fate({ world, random: rare, disk, settings, referee, town, damage });
  await goWild({ world, town, settings, plot, fate });
  disk.calm = true;
  town.wild = false;
  for (const process of town.processes) if (process.paused) process.wake();
  await quiet(world, town, referee);
  const stage: Stage = { world, town, referee, store: disk.store, fate, until: (done) => until(world, done) };
  await workersFinish(stage);
  for (const session of referee.sessions) {
    await mended(stage, session, (child) => takesInput(stage, child));
    await takesInput(stage, session);
  }
  await watchersSee(stage);
  await referee.witness.settled(disk.store);
  let records = 0;
  for (const session of referee.sessions) {
    const waiting = await disk.store.mailbox(session);
    referee.accounted(
      session,
      waiting.map(({ id }) => id),
    );
    records += referee.entries(session).length;
  }
  const { hash, happened } = world;
  return {
    seed,
    settings,
    breaches: referee.breaches,
    hash,
    labels: referee.before,
    happened,
    sessions: referee.sessions.length,
    records,
  };
}

interface Wild {
  world: World;
  town: People;
  settings: Settings;
  plot: Plot | undefined;
  fate: Fate;
}

async function goWild({ world, town, settings, plot, fate }: Wild): Promise<void> {
  const first = town.newProcess();
  town.newProcess();
  let begun = false;
  const begin = (): void => {
    createSession(first.runtime, "s")
      .then(() => {
        begun = true;
        town.drive(first, "s", "run", "begin");
        fate.begin();
      })
      // The first word may meet a fault like any other: it is said again.
      .catch(() => void world.after(1_000, "begin again", begin));
  };
  begin();
  let left = settings.actions;
  const next = (): void => {
    if (begun) {
      left -= 1;
      town.act();
      fate.occasion();
    }
    if (left > 0) world.after(world.random.next() * settings.paceMs * 2, "people", next);
  };
  if (left > 0) world.after(world.random.next() * settings.paceMs, "people", next);
  await world.run(wildEvents, (events) => {
    if (events > 0) plot?.happened(events, town);
    return left > 0 || !begun || town.drives.some(({ over }) => !over);
  });
}

/** Every drive under way comes to its end. */
async function quiet(world: World, town: People, referee: Referee): Promise<void> {
  await until(world, () => town.drives.every(({ over }) => over));
  for (const { session, mode, process } of town.drives.filter(({ over }) => !over))
    referee.breach("L6", session, `${mode} by ${process.name} has no end`);
}

async function takesInput(stage: Stage, session: string): Promise<void> {
  const { world, town, referee, store } = stage;
  // Who was deleting it may have been under way when the faults stopped.
  for (let left = tries; left > 0 && referee.sessions.includes(session); left -= 1) {
    const process = town.newProcess();
    const drive: Drive = town.drive(process, session, "run", "finally");
    await until(world, () => drive.over);
    process.crash();
    if (!drive.over) return referee.breach("L6", session, "an input after the faults has no end");
    if (drive.completed) {
      if ((await store.get(session))?.head.openTurn)
        referee.breach("L7", session, "a turn is open after its driver is done");
      return;
    }
    await pass(stage, patienceMs);
  }
  if (!referee.sessions.includes(session)) return;
  referee.breach("L6", session, `no input completes in ${tries} tries after the faults`);
}

function until(world: World, done: () => boolean): Promise<void> {
  return world.run(calmEvents, () => !done());
}
