/**
 * What people and fate do to sessions while they run: inputs, steers, second thoughts, stops, forks, answers; deaths,
 * sleeps, full disks, clocks that jump.
 */
import { type Agent, forkSession, isPawlError, openSession, rewindSession, type Session, type Turn } from "@pawl/core";
import type { Disk } from "./disk.ts";
import type { Plot } from "./plot.ts";
import { Process } from "./process.ts";
import type { Referee } from "./referee.ts";
import type { Settings } from "./settings.ts";
import { simulatedAgent } from "./workshop.ts";
import type { World } from "./world.ts";

export type Mode = "run" | "resume" | "continue" | "settle";

export interface Drive {
  session: string;
  process: Process;
  mode: Mode;
  over: boolean;
  completed: boolean;
}

/** Errors that a person may meet in this world; any other is a fault of the runtime. */
const expected: ReadonlySet<string> = new Set([
  "FENCED",
  "CONFLICT",
  "SESSION_BUSY",
  "STORE_UNAVAILABLE",
  "STORE_FULL",
  "INVALID_INPUT",
  "SESSION_NOT_FOUND",
  "WITHDRAWN",
  "NO_SNAPSHOT",
]);

/** Each death is followed by a new process; a schedule should end all the same. */
const mostProcesses = 12;

export class People {
  readonly processes: Process[] = [];
  readonly drives: Drive[] = [];
  wild = true;
  /** Hears of each new process. */
  onProcess: (process: Process) => void = () => {};
  readonly #world: World;
  readonly #disk: Disk;
  readonly #settings: Settings;
  readonly #referee: Referee;
  readonly #plot: Plot | undefined;

  constructor(world: World, disk: Disk, settings: Settings, referee: Referee, plot: Plot | undefined) {
    this.#plot = plot;
    this.#world = world;
    this.#disk = disk;
    this.#settings = settings;
    this.#referee = referee;
  }

  newProcess(): Process {
    const name = `p${this.processes.length + 1}`;
    const process: Process = new Process(this.#world, this.#disk, this.#settings, name, () => this.#diesAt(process));
    this.processes.push(process);
    this.onProcess(process);
    return process;
  }

  drive(process: Process, session: string, mode: Mode, input = "go on"): Drive {
    const drive: Drive = { session, process, mode, over: false, completed: false };
    this.drives.push(drive);
    const agent = this.agent(process, session, mode === "settle");
    const begin = async (): Promise<Turn> => {
      const opened = await openSession(process.runtime, session);
      if (mode === "run") return opened.run(agent, input);
      if (mode === "settle") return opened.settle(agent);
      return mode === "resume" ? opened.resume(agent) : opened.continue(agent);
    };
    begin()
      .then((turn) => turn.result)
      .then(
        ({ outcome }) => {
          drive.completed = outcome.type === "completed";
          this.#world.note(`${process.name} ${mode} ${session}: ${outcome.type}`);
        },
        (error: unknown) => this.met(error, `${mode} ${session}`),
      )
      .finally(() => {
        drive.over = true;
      });
    return drive;
  }

  /** What a process drives a session with. `closing`: nothing is to run. */
  agent(process: Process, session: string, closing = false): Agent {
    return simulatedAgent({
      world: this.#world,
      process,
      settings: this.#settings,
      referee: this.#referee,
      session,
      closing,
      wild: () => this.wild,
      plot: this.#plot,
    });
  }

  /** One more thing happens, drawn. */
  act(): void {
    const { random } = this.#world;
    const { crash, pause, clockJump, diskFull, abort, posts, fork, approval, compaction } = this.#settings;
    const session = random.pick(this.#referee.sessions);
    const process = random.pick(this.processes);
    if (random.chance(crash)) return this.#crash(process);
    if (random.chance(pause)) return this.#sleep(process);
    if (random.chance(clockJump)) return process.jumpClock(random.pick([-3_600_000, 86_400_000, 5]));
    if (random.chance(diskFull)) return this.#disk.fill();
    if (random.chance(abort)) return this.does(session, "abort", (one) => this.#abort(one));
    if (random.chance(posts)) return this.does(session, "post", (one) => this.#post(one));
    if (random.chance(approval)) return this.does(session, "answer", (one) => this.#answer(one));
    if (random.chance(fork)) return this.does(session, "fork", (one, by) => this.#fork(one, by));
    if (random.chance(compaction / 2)) return this.does(session, "drop", (one) => one.dropContext({ keep: 0.2 }));
    if (process.alive) this.drive(process, session, random.pick(["run", "run", "resume", "continue"]));
  }

  /** Somebody in some process does something to a session. */
  does(id: string, what: string, doing: (session: Session, by: Process) => Promise<unknown>): void {
    const by = this.#world.random.pick(this.processes);
    if (!by.alive) return;
    openSession(by.runtime, id)
      .then((session) => doing(session, by))
      .catch((error: unknown) => this.met(error, what));
  }

  /** The worst moment to die: something is on its way. */
  #diesAt(process: Process): void {
    if (!this.wild || this.processes.length > mostProcesses) return;
    if (this.#world.random.chance(this.#settings.crash / 40)) this.#crash(process);
  }

  /** The driver of `session` dies; another process goes on in `mode`. */
  crashDriver(session: string, mode: Mode): void {
    const drive = this.drives.findLast((one) => one.session === session && !one.over);
    if (drive) this.#crash(drive.process, mode);
  }

  /** Somebody in another process stops the open turn. */
  stop(session: string): void {
    this.does(session, "abort", (one) => this.#abort(one));
  }

  #crash(process: Process, mode: Mode = this.#world.random.pick(["resume", "run", "continue"])): void {
    process.crash();
    this.#world.note(`${process.name} dies`);
    for (const drive of this.drives) if (drive.process === process) drive.over = true;
    const next = this.newProcess();
    const left = this.drives.findLast((drive) => drive.process === process);
    if (!left) return;
    next.after(this.#world.random.below(this.#world.random.pick([20, 3_000])), "restart", () =>
      this.drive(next, left.session, mode, "and now?"),
    );
  }

  #sleep(process: Process): void {
    if (process.paused || !process.alive) return;
    process.pause();
    this.#world.note(`${process.name} sleeps`);
    this.#world.after(this.#world.random.pick([100, 5_000, 40_000]), `${process.name} wakes`, () => process.wake());
  }

  async #abort(session: Session): Promise<void> {
    const turn = (await session.summary())?.head.openTurn;
    if (turn === undefined) return;
    await session.abort(turn);
    if (this.#world.random.chance(0.2)) await session.abort(turn);
  }

  async #post(session: Session): Promise<void> {
    const { random } = this.#world;
    const [first] = await session.queue();
    if (first && random.chance(0.3)) return session.edit(first.id, "better");
    if (first && random.chance(0.3)) return session.withdraw(first.id);
    await session.post(random.pick(["input", "steer"]), "one more thing");
  }

  async #answer(session: Session): Promise<void> {
    const { random } = this.#world;
    for (const { approval } of await session.pendingApprovals()) {
      await session.answer(approval, random.pick(["allow", "deny"]), {
        scope: random.pick(["call", "session", "forks"]),
        by: "ann",
      });
      if (random.chance(0.2)) await session.answer(approval, "deny", { by: "bob" });
    }
  }

  async #fork(session: Session, by: Process): Promise<void> {
    const { random } = this.#world;
    if (this.#referee.sessions.length > 4) return;
    const seq = 1 + random.below((await session.summary())?.seq ?? 1);
    const from = { session: session.id, seq };
    const child = random.chance(0.3)
      ? await rewindSession(by.runtime, from)
      : await forkSession(by.runtime, from, this.#world.id("s"));
    this.drive(by, child.id, "run", "another way");
  }

  /** Whether that may happen to a person. */
  met(error: unknown, what: string): void {
    const code = isPawlError(error) ? error.code : "";
    this.#world.note(`${what} met ${code || String(error)}`);
    if (expected.has(code) || (code === "CORRUPT" && this.#settings.damage > 0)) return;
    // The original failure, where even the end that it led to could not be recorded.
    if (this.#settings.strictSnapshots > 0 && String(error).startsWith("Error: no snapshot of the workspace")) return;
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#referee.breach("error", what, said);
  }
}
