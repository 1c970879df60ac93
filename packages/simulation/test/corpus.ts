/** Schedules that have broken a law. The seed draws the same world as long as the world is the same; the fault stays told. */
import type { Settings } from "../src/settings.ts";

export const corpus: { seed: number; settings?: Partial<Settings>; why: string }[] = [
  { seed: 324, why: "a run whose own input was withdrawn before its turn began ended as a bug" },
  { seed: 3202, why: "a run whose own input was handed back when the turn before it was stopped ended as a bug" },
  { seed: 543, why: "a turn that continued another sent a request that ended with the model's own words" },
  {
    seed: 395283,
    why: "an input was handed back by an append that was done and reported as failed: its run ended as a bug",
  },
  { seed: 480996, why: "the same, after a recovery" },
  {
    seed: 6,
    settings: { damage: 0.4 },
    why: "the record that began the open turn was the damaged one: its repair closed nothing, and the next turn broke a law",
  },
  {
    seed: 858,
    settings: { damage: 0.4, eager: true, crash: 0 },
    why: "a read whose early entry was in a hole was told as never started",
  },
  {
    seed: 209,
    settings: { damage: 0.4 },
    why: "all that was said lay in holes, and the turn was continued: its request had no message",
  },
  {
    seed: 25,
    settings: { snapshotFault: 0.4, strictSnapshots: 1 },
    why: "after a snapshot that came too late, the next turn of the drive ran without one, where nothing was to",
  },
  {
    seed: 3134115,
    why: "a run whose process slept behind its post, while another drove the input to its end, ended as a bug",
  },
  { seed: 3227238, why: "the same, where a worker drove it, in a fork" },
  { seed: 3304742, why: "the same, where the store's clock had jumped: the lease had run out there alone" },
  {
    seed: 3550664,
    why: "a fork was cut inside a repair, and the start of its parent's turn was in the hole: nobody closed it there",
  },
  {
    seed: 3428900,
    why: "the world's mistake: where a repair had rotted, the laws were shown what it hid beside what it had closed",
  },
  {
    seed: 3435109,
    why: "the world's mistake: a fork's driver that read again what was erased in its parent was held to what it had sent before",
  },
  {
    seed: 4241865,
    why: "the world's mistake: a session that a call of a dead process deleted in the end was still to be mended",
  },
];
