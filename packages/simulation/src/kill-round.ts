/**
 * One round: a run that is killed, its recovery that may be killed again, a new input; and what must hold after each.
 *
 * Invariants, beyond the ten laws: what was printed is in the log, byte for byte, and stays; a post that was acknowledged is
 * there once; an exit code is the last line's and the log's; a command's effect is there once where the log tells of it, and
 * at most once wherever it does not; the judge takes every request; nothing is left behind.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type LogEntry, openSession, verify } from "@pawl/core";
import { type ModelServer, startModelServer } from "@pawl/model-server";
import { checkExit, checkKept, checkTools, phaseOf } from "./kill-proof.ts";
import { drawTask, windowTokens } from "./kill-task.ts";
import { type Finished, KillWorld, type Moment } from "./kill-world.ts";
import { Random } from "./random.ts";

/** What a run that nobody kills is like: so long, and so many lines. */
export interface Measure {
  ms: number;
  lines: number;
}

export interface Told {
  round: number;
  seed: number;
  /** Of each death: when it was to be, and what was going on then. */
  kills: { moment: Moment; phase: string }[];
  /** Of each process that ended by itself: what it was, and its exit code. */
  ends: string[];
  folder: string;
  /** Of the first process. */
  whole: Measure;
  failure?: unknown;
}

const provider = { chat: "openai-chat", responses: "openai", anthropic: "anthropic" } as const;

/** Where rounds take place. A folder of its own each; one whose round failed stays. */
function roundFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "pawl-kill-")));
}

/** `measure` undefined: nothing is killed, and nothing is posted. `url`: of a database, where all rounds are together. */
export async function playRound(
  round: number,
  seed: number,
  measure: Measure | undefined,
  url?: string,
): Promise<Told> {
  const told: Told = { round, seed, kills: [], ends: [], folder: roundFolder(), whole: { ms: 0, lines: 0 } };
  const random = new Random(seed * 100_003 + round);
  const task = drawTask(random);
  const server = await startModelServer({ script: (request) => task.answer(request) });
  const cache = join(tmpdir(), "pawl-kill-cache");
  mkdirSync(cache, { recursive: true });
  const world = new KillWorld(told.folder, cache, url);
  try {
    await new Round(told, world, random, server, task.protocol).play(measure);
  } catch (failure) {
    told.failure = failure;
  } finally {
    await server.close();
    const left = await world.survivors();
    world.leave();
    if (left.length > 0) told.failure ??= new Error(`left alive: ${left.join("; ")}`);
  }
  return told;
}

class Round {
  readonly #told: Told;
  readonly #world: KillWorld;
  readonly #random: Random;
  readonly #server: ModelServer;
  readonly #place: string[];
  readonly #session: string;
  /** Everything that was in the log when it was looked at last. */
  #log: LogEntry[] = [];
  readonly #printed: string[] = [];
  readonly #posts: string[] = [];

  constructor(told: Told, world: KillWorld, random: Random, server: ModelServer, protocol: keyof typeof provider) {
    this.#told = told;
    this.#world = world;
    this.#random = random;
    this.#server = server;
    // The folder's name is no other round's, in a database that holds them all either.
    this.#session = basename(told.folder);
    const model = ["--model", `${provider[protocol]}:scripted`, "--base-url", server.baseUrl(protocol)];
    const rest = ["--yes", "--json", "--window", String(windowTokens), "--store", world.store];
    this.#place = [...model, ...rest];
  }

  async play(measure: Measure | undefined): Promise<void> {
    await this.#run(["run", "Do the whole task", "--session", this.#session, "--cwd", this.#world.work], measure);
    if (measure && this.#isOpen()) {
      await this.#post();
      const again = this.#random.chance(1 / 3)
        ? { ms: measure.ms / 2, lines: Math.ceil(measure.lines / 2) }
        : undefined;
      await this.#run(["resume", this.#session], again);
      if (again && this.#isOpen()) await this.#run(["resume", this.#session], undefined);
    } else if (measure) {
      await this.#refusedResume();
    }
    if (measure) await this.#run(["run", "And one thing more", "--session", this.#session], undefined);
    assert.ok(!this.#isOpen(), "a turn was left open");
    await this.#atTheEnd();
  }

  #isOpen(): boolean {
    const last = this.#log.findLast(({ event }) => event.type === "turn.started" || event.type === "turn.ended");
    return last?.event.type === "turn.started";
  }

  async #run(args: string[], measure: Measure | undefined): Promise<void> {
    const moment = measure ? this.#moment(measure) : undefined;
    const finished = await this.#world.pawl([...args, ...this.#place], moment);
    if (args[0] === "run" && this.#told.whole.ms === 0)
      this.#told.whole = { ms: finished.ms, lines: finished.lines.length };
    const before = this.#log;
    this.#log = await this.#look();
    this.#printed.push(...finished.lines.filter((line) => line.startsWith('{"seq":')));
    if (finished.signal !== null && moment) {
      this.#told.kills.push({ moment, phase: phaseOf(this.#log, before.length) });
    } else {
      this.#told.ends.push(`${args[0]} ${finished.code}`);
      checkExit(finished, this.#log);
      assert.equal(finished.code, 0, `${args[0]} ends well: ${finished.stderr}`);
    }
    checkKept({ before, log: this.#log, printed: this.#printed });
    checkTools(this.#log, this.#world.counted());
    this.#judged();
  }

  /** A third of the deaths come at any time, the others right behind a line: there the next effect is under way. */
  #moment({ ms, lines }: Measure): Moment {
    if (this.#random.chance(1 / 3)) return { afterMs: this.#random.next() * ms };
    return { line: 1 + this.#random.below(lines), afterMs: this.#random.pick([0, 0, 1, 2, 5, 20, 60]) };
  }

  async #look(): Promise<LogEntry[]> {
    const runtime = await this.#world.open();
    try {
      if (!(await runtime.store.get(this.#session))) return [];
      const entries = await (await openSession(runtime, this.#session)).entries();
      const broken = verify(entries).flatMap(({ violations }) => violations);
      assert.deepEqual(broken, []);
      return entries;
    } finally {
      await runtime.store.close();
    }
  }

  /** From another process than the one that drives: once acknowledged it stays, whoever dies next. */
  async #post(): Promise<void> {
    if (this.#random.chance(0.5)) return;
    const runtime = await this.#world.open();
    try {
      const kind = this.#random.pick(["steer", "input"]);
      const held = await openSession(runtime, this.#session);
      this.#posts.push(await held.post(kind, `Mind post ${this.#posts.length + 1}`));
    } finally {
      await runtime.store.close();
    }
  }

  /** Where no turn is open there is nothing to resume, and the exit code says which of the two it is. */
  async #refusedResume(): Promise<void> {
    const { code } = await this.#world.pawl(["resume", this.#session, ...this.#place]);
    assert.equal(code, this.#log.length === 0 ? 3 : 2, "a resume of what is not open is refused");
    this.#told.ends.push(`resume ${code}`);
  }

  #judged(): void {
    const violations = this.#server.requests.flatMap(({ verdict }) => verdict.violations);
    assert.deepEqual(violations, [], "the judge of the model server");
  }

  async #atTheEnd(): Promise<void> {
    const { code, stderr }: Finished = await this.#world.pawl(["verify", this.#session, "--store", this.#world.store]);
    assert.equal(code, 0, `pawl verify: ${stderr}`);
    const claimed = this.#log.flatMap(({ event }) => (event.type === "input.accepted" ? [event.input] : []));
    for (const post of this.#posts) assert.equal(claimed.filter((id) => id === post).length, 1, `post ${post}`);
    const left = await this.#world.survivors();
    assert.deepEqual(left, [], "processes left alive");
    assert.deepEqual(this.#world.litter(), [], "files left behind");
  }
}
