/**
 * Worker processes that are killed, paused and woken while they drive sessions; and what must hold afterwards.
 *
 * Owns: processes, faults, the reckoning. Does not own: what is driven (fleet-agent).
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createSession, type LogEntry, openSession, type Runtime, verify } from "@pawl/core";
import { actsPerTurn } from "./fleet-agent.ts";

export interface FleetPlace {
  /** As the worker process takes it. */
  args: readonly [place: string, schema: string];
  runtime: Runtime;
  /** SQLite's: whether others can write while a process is stopped, which it may be inside a transaction. */
  isWritable?(): boolean;
}

interface Member {
  child: ChildProcess;
  machine: string;
}

/** A lease over an open turn, of a process that is killed, or of one that is stopped until it has run out. */
interface Orphan {
  session: string;
  epoch: number;
  why: "killed" | "expired";
  /** Since when somebody else may drive it. */
  since: number;
}

/** How long turns were nobody's, ms, ascending. */
export type TakeOvers = { readonly [why in Orphan["why"]]: number[] };

const script = fileURLToPath(new URL("./fleet-process.ts", import.meta.url));

export class Fleet {
  readonly #place: FleetPlace;
  readonly #effects: string;
  readonly #pauseMs: number;
  readonly #members: Member[] = [];
  readonly #orphans: Orphan[] = [];
  readonly #waiting = new Set<() => void>();
  #started = 0;
  /** Side effects that were said so far. */
  begun = 0;

  constructor(place: FleetPlace, effects: string, pauseMs: number) {
    this.#place = place;
    this.#effects = effects;
    this.#pauseMs = pauseMs;
    writeFileSync(effects, "");
  }

  async start(): Promise<Member> {
    this.#started += 1;
    const machine = `machine-${this.#started}`;
    const args = [script, ...this.#place.args, machine, this.#effects, String(this.#pauseMs)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    assert.ok(child.stdout);
    const member = { child, machine };
    this.#members.push(member);
    const lines = createInterface({ input: child.stdout });
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`${machine} ended with ${code} before it was ready`)));
      lines.on("line", (line) => {
        if (line === "ready") return resolve();
        this.begun += 1;
        for (const look of this.#waiting) look();
      });
    });
    return member;
  }

  /** Resolves when so many side effects have begun. */
  async reached(count: number): Promise<void> {
    if (this.begun >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => this.begun >= count && resolve();
    this.#waiting.add(look);
    await promise;
    this.#waiting.delete(look);
  }

  /** `SIGKILL`; what it held is remembered, and another starts in its place. */
  async kill(member: Member): Promise<Member> {
    const held = await this.#held(member);
    member.child.kill("SIGKILL");
    const killedAt = Date.now();
    await exited(member.child);
    for (const { session, epoch } of held) this.#orphans.push({ session, epoch, why: "killed", since: killedAt });
    return this.start();
  }

  async #held({ child }: Member): Promise<{ session: string; epoch: number; expiresAt: number }[]> {
    const list = await this.#place.runtime.store.list();
    return list.flatMap(({ session, lease, head }) =>
      lease && lease.holder.pid === child.pid && head.openTurn !== undefined
        ? { session, epoch: lease.epoch, expiresAt: lease.expiresAt }
        : [],
    );
  }

  /** `SIGSTOP`, outside of a transaction. What it holds is nobody's when its leases have run out. */
  async stop(member: Member): Promise<void> {
    member.child.kill("SIGSTOP");
    while (this.#place.isWritable?.() === false) {
      this.wake(member);
      await setImmediate();
      member.child.kill("SIGSTOP");
    }
    for (const { session, epoch, expiresAt } of await this.#held(member))
      this.#orphans.push({ session, epoch, why: "expired", since: expiresAt });
  }

  wake({ child }: Member): void {
    child.kill("SIGCONT");
  }

  async drain(): Promise<void> {
    for (const { child } of this.#members) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await exited(child);
      assert.equal(child.exitCode, 0, "a worker that is asked to end does so in order");
    }
  }

  /** Whatever happened: nothing of the fleet outlives the test. */
  killAll(): void {
    for (const { child } of this.#members) child.kill("SIGKILL");
  }

  /** Calls whose outcome nobody knows: what a take-over costs. */
  async unknown(sessions: readonly string[]): Promise<number> {
    let count = 0;
    for (const id of sessions) {
      for (const { event } of await (await openSession(this.#place.runtime, id)).entries())
        if (event.type === "tool.settled" && event.output.code === "TOOL_OUTCOME_UNKNOWN") count += 1;
    }
    return count;
  }

  /** Every law, every input, every side effect. Returns how long take-overs took. */
  async reckon(sessions: readonly string[], inputs: number): Promise<TakeOvers> {
    const lines = readFileSync(this.#effects, "utf8").trim().split("\n");
    assert.deepEqual([...new Set(lines)].length, lines.length, "no side effect happened twice");
    const happened = new Set(lines);
    const took: TakeOvers = { killed: [], expired: [] };
    for (const id of sessions) {
      const session = await openSession(this.#place.runtime, id);
      const entries = await session.entries();
      const broken = verify(entries).flatMap(({ violations }) => violations);
      assert.deepEqual(broken, [], id);
      const of = (type: string) => entries.filter(({ event }) => event.type === type);
      assert.equal(of("input.accepted").length, inputs, id);
      assert.equal(of("turn.ended").length, inputs, id);
      assert.equal(of("tool.settled").length, inputs * actsPerTurn, id);
      for (const { event } of entries) {
        if (event.type === "turn.ended") assert.equal(event.outcome.type, "completed", id);
        // A result that came is of a body that ran; a body that ran has a record that it was entered.
        const done = event.type === "tool.settled" && JSON.stringify(event.output).match(/did (\d+-\d+)/);
        if (done) assert.ok(happened.has(`${id} ${done[1]}`), `${id}: ${done[1]} has a result and never ran`);
      }
      assert.deepEqual(await this.#place.runtime.store.mailbox(id), []);
      for (const { epoch, why, since } of this.#orphans.filter(({ session }) => session === id)) {
        const at = entries.findIndex((entry) => entry.epoch > epoch);
        const next = entries[at];
        // A turn that its driver ended just in time left nothing to take over: its session waits for its turn.
        if (next && isOpenIn(entries.slice(0, at))) took[why].push(Math.max(0, next.time - since));
      }
    }
    for (const times of Object.values(took)) times.sort((a, b) => a - b);
    return took;
  }
}

function isOpenIn(entries: readonly LogEntry[]): boolean {
  const last = entries.findLast(({ event }) => event.type === "turn.started" || event.type === "turn.ended");
  return last?.event.type === "turn.started";
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Whether a write of a SQLite store gets its turn within a second: other writers need milliseconds. */
export function sqliteIsWritable(path: string): boolean {
  const db = new DatabaseSync(path, { timeout: 1_000 });
  try {
    db.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === 5) return false;
    throw error;
  } finally {
    db.close();
  }
}

export async function makeSessions(runtime: Runtime, count: number, inputs: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `s${index}`);
  for (const id of ids) {
    const session = await createSession(runtime, id);
    for (let nth = 1; nth <= inputs; nth += 1) await session.post("input", `input ${nth}`, `${id}-in-${nth}`);
  }
  return ids;
}

/** Resolves when each session has ended so many turns. */
export async function allEnded(runtime: Runtime, ids: readonly string[], turns: number): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const session = await openSession(runtime, id);
      const end = new AbortController();
      let ended = 0;
      for await (const { event } of session.follow({ signal: end.signal })) {
        if (event.type === "turn.ended") ended += 1;
        if (ended >= turns) end.abort();
      }
    }),
  );
}

export function takeOverWords({ killed, expired }: TakeOvers): string {
  return `taken over from the killed: ${timeWords(killed)}; after a lease of the stopped had run out: ${timeWords(expired)}`;
}

function timeWords(times: readonly number[]): string {
  if (times.length === 0) return "no turn";
  return `${times.length}, median ${times[Math.floor(times.length / 2)]} ms, longest ${times.at(-1)} ms`;
}
