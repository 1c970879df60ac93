/** What F1, F2 and F3 share: one record, the raw rate of the disk, and sessions that commit it through a store. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "@pawl/core";
import { cpuGauge, settle, wallGauge } from "./gauge.ts";
import type { Figures } from "./row.ts";

/** About the size of a middling event. */
const payload = new TextEncoder().encode(JSON.stringify({ about: "bench", text: "x".repeat(250) }));

/** Commits a second of the plainest durable log: one writer, one file, write and fdatasync, nothing else. */
export async function rawRate(dir: string, commits: number): Promise<Figures> {
  const file = openSync(join(dir, "raw.log"), "a");
  const wall = wallGauge();
  const cpu = cpuGauge();
  for (let n = 0; n < commits; n += 1) {
    writeSync(file, payload);
    fdatasyncSync(file);
  }
  const figures = { value: (commits / wall()) * 1e6, cpu: cpu() / commits };
  closeSync(file);
  return figures;
}

/**
 * Commits a second of so many sessions at once, each one record at a time, the next when the last is durable. The
 * store does not look into records, so these carry a checksum that is none: making a true one is a part of B1.
 */
export async function commitRate(runtime: Runtime, sessions: number, commitsEach: number): Promise<Figures> {
  const { store, effects, holder } = runtime;
  const record = (session: string, epoch: number, seq: number) => ({
    ...{ session, epoch, seq, type: "note.recorded", version: 1, ignorable: true, time: effects.clock.now() },
    ...{ payload, checksum: "0".repeat(32) },
  });
  const open = async (session: string): Promise<number> => {
    await store.create({ session, records: [record(session, 0, 1)], head: {} });
    const answer = await store.acquireLease(session, holder, 60_000);
    if (!answer.granted) throw new Error(`session ${session} is held by another`);
    return answer.epoch;
  };
  const commit = async (session: string, epoch: number, from: number, to: number) => {
    for (let seq = from; seq < to; seq += 1) {
      await store.append({ session, epoch, expectedSeq: seq, records: [record(session, epoch, seq + 1)] });
    }
  };
  const names = Array.from({ length: sessions }, (_, n) => `bench-${n}`);
  const epochs = await Promise.all(names.map(open));
  const all = (from: number, to: number) =>
    Promise.all(names.map((session, n) => commit(session, epochs[n] ?? 0, from, to)));
  // A tenth as warm-up: compiled code is what a running store has.
  const warm = 1 + Math.ceil(commitsEach / 10);
  await all(1, warm);
  settle();
  const wall = wallGauge();
  const cpu = cpuGauge();
  await all(warm, warm + commitsEach);
  const commits = sessions * commitsEach;
  return { value: (commits / wall()) * 1e6, cpu: cpu() / commits };
}

/** Through the SQLite store. */
export async function storeRate(dir: string, sessions: number, commitsEach: number): Promise<Figures> {
  const { withRuntime } = await import("./durable.ts");
  return withRuntime(dir, (runtime) => commitRate(runtime, sessions, commitsEach));
}
