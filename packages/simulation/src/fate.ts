/**
 * What is rare: records rot and are mended, payloads are erased, sessions deleted, names moved; others watch, close, claim.
 *
 * Draws from a stream of its own, and does nothing in a world that has none of it: such a world is as if this were not here.
 */
import { checkSession, erasePayloadOf, openSession, rewindSession } from "@pawl/core";
import { Crew } from "./crew.ts";
import type { Damage } from "./damage.ts";
import type { Disk } from "./disk.ts";
import type { People } from "./people.ts";
import { Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { Referee } from "./referee.ts";
import type { Settings } from "./settings.ts";
import { Watcher } from "./watcher.ts";
import type { World } from "./world.ts";

export interface FateParts {
  world: World;
  random: Random;
  disk: Disk;
  settings: Settings;
  referee: Referee;
  town: People;
  damage: Damage | undefined;
}

/** The name of the first session, and of what comes of it. */
const name = "main";
/** Each costs a look at every fact. */
const mostWatchers = 3;
/** As many as people make. */
const mostSessions = 4;

export class Fate {
  readonly crew: Crew | undefined;
  readonly watchers: Watcher[] = [];
  /** Deleted, or about to be. */
  readonly #removed = new Set<string>();
  readonly #with: FateParts;
  readonly #deeds: readonly (readonly [number, () => void])[];

  constructor(parts: FateParts) {
    this.#with = parts;
    const { settings, town, referee, random, disk } = parts;
    referee.witness.strict = settings.strictSnapshots > 0 && settings.noSnapshots === 0;
    referee.witness.damage = parts.damage;
    referee.witness.onTask = (parent, child) => this.#task(parent, child);
    if (settings.workers > 0) {
      const crew = new Crew(town, referee, random, settings.workers);
      town.onProcess = (process) => crew.hire(process);
      this.crew = crew;
    }
    const deeds: [number, () => void][] = [
      [settings.damage, () => this.#damage()],
      [settings.erase, () => this.#erase()],
      [settings.remove, () => this.#remove()],
      [settings.names, () => this.#rewind()],
      [settings.settle, () => this.#settle()],
      [settings.watch, () => this.#watch()],
      [settings.workers, () => this.#work()],
      [settings.storeClock, () => disk.jumpClock(random.pick([-3_600_000, 3_600_000, 20_000]))],
    ];
    this.#deeds = deeds.filter(([chance]) => chance > 0);
  }

  /** The first session is there. */
  begin(): void {
    const { settings, town } = this.#with;
    if (settings.names > 0) town.does("s", "name", (_, by) => by.runtime.store.setName(name, "s"));
    if (settings.watch > 0) this.#watch();
  }

  /** People do something: a moment for this, too, a little later. */
  occasion(): void {
    const { world, random, settings, town } = this.#with;
    for (const [chance, deed] of this.#deeds) {
      if (!random.chance(2 * chance)) continue;
      world.after(random.next() * settings.paceMs, "fate", () => {
        if (town.wild) deed();
      });
    }
  }

  /** Another record rots; or somebody mends what has. */
  #damage(): void {
    const { random, referee, damage, town, world } = this.#with;
    const holed = referee.sessions.filter((session) => referee.witness.isHoled(session));
    if (holed.length > 0 && random.chance(0.6)) {
      town.does(random.pick(holed), "mend", (session, by) => checkSession(by.runtime, session.id, { repair: true }));
      return;
    }
    const session = random.pick(referee.sessions);
    const own = referee.entries(session).filter((entry) => entry.session === session && !damage?.isRotten(entry));
    // What was written last is what a driver is in the middle of.
    const among = random.chance(0.5) ? own : own.slice(-3);
    const seq = among[random.below(among.length)]?.seq;
    if (seq === undefined) return;
    damage?.rot(session, seq);
    referee.rotted(session, seq);
    world.note(`record ${seq} of ${session} rots`);
    // What takes a record often takes its process, too.
    if (random.chance(0.4)) town.crashDriver(session, "resume");
  }

  #erase(): void {
    const { random, referee, town } = this.#with;
    const id = random.pick(referee.sessions);
    const content = referee.entries(id).filter(({ session, event }) => session === id && withContent.has(event.type));
    const seq = content[random.below(content.length)]?.seq;
    if (seq === undefined) return;
    town.does(id, "erase", (_, by) => erasePayloadOf(by.runtime.store, by.runtime.holder, id, seq));
  }

  /** One is left: a world without any has nothing more to show. */
  #remove(): void {
    const { random, referee, town, world } = this.#with;
    const left = referee.sessions.filter((session) => !this.#removed.has(session));
    if (left.length < 2) return;
    const id = random.pick(left);
    this.#removed.add(id);
    world.note(`${id} is deleted`);
    town.does(id, "delete", (_, by) => by.runtime.store.delete(id));
  }

  /** Whatever bears the name is rewound, or driven by it. */
  #rewind(): void {
    const { random, referee, town, world } = this.#with;
    const by = random.pick(town.processes);
    if (!by.alive) return;
    const doing = async () => {
      const session = await openSession(by.runtime, name);
      if (random.chance(0.4) || referee.sessions.length > mostSessions) return town.drive(by, session.id, "run");
      const seq = 1 + random.below((await session.summary())?.seq ?? 1);
      const child = await rewindSession(by.runtime, { session: session.id, seq }, { name, id: world.id("s") });
      referee.witness.rewound(child.id);
      return town.drive(by, child.id, "run", "another way");
    };
    doing().catch((error: unknown) => town.met(error, "rewind"));
  }

  #settle(): void {
    const { random, referee, town } = this.#with;
    const session = random.pick(referee.sessions);
    // Whoever drives dies, and somebody closes what is left.
    if (random.chance(0.5)) return town.crashDriver(session, "settle");
    const by = random.pick(town.processes);
    if (by.alive) town.drive(by, session, "settle");
  }

  #watch(): void {
    const { world, disk, settings, referee, random } = this.#with;
    if (this.watchers.length >= mostWatchers) return;
    const process = new Process(world, disk, settings, `w${this.watchers.length + 1}`, () => {});
    const session = random.pick(referee.sessions);
    const after = random.chance(0.5) ? 0 : random.below(referee.entries(session).length + 1);
    this.watchers.push(new Watcher(process, session, after, referee));
  }

  /** A task is under way: whoever drives it or its parent may die, and the child may be stopped by somebody. */
  #task(parent: string, child: string): void {
    const { world, random, settings, town } = this.#with;
    if (!town.wild || !random.chance(settings.tasks)) return;
    world.after(random.next() * 1_000, "fate of a task", () => {
      if (!town.wild) return;
      if (random.chance(0.2)) town.stop(child);
      else town.crashDriver(parent, random.pick(["resume", "resume", "run", "settle"]));
    });
  }

  /** Something is posted for whoever claims it; or a worker goes home. */
  #work(): void {
    const { random, referee, town } = this.#with;
    if (random.chance(0.2)) return this.crew?.drainOne();
    town.does(random.pick(referee.sessions), "post", (session) => session.post("input", "for whoever is there"));
  }
}

/** Types of events that have a payload to erase. */
const withContent: ReadonlySet<string> = new Set([
  "input.accepted",
  "message.committed",
  "attempt.ended",
  "tool.entered",
  "tool.settled",
  "context.compacted",
]);
