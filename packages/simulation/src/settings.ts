/**
 * What may go wrong in one schedule: drawn from its seed, so that some schedules have one fault and others most of them.
 * A fault that is always there hides what happens without it.
 */
import type { Random } from "./random.ts";

export interface Settings {
  /** How likely, per occasion; what has many occasions divides it where it is drawn. */
  appendBefore: number;
  appendAfter: number;
  otherCalls: number;
  diskFull: number;
  crash: number;
  pause: number;
  clockJump: number;
  modelFault: number;
  modelLie: number;
  toolThrow: number;
  toolHang: number;
  toolDeaf: number;
  toolOdd: number;
  abort: number;
  posts: number;
  fork: number;
  compaction: number;
  approval: number;
  /** How many things people and fate do, and how far apart, ms. */
  actions: number;
  paceMs: number;
  /** Of a store call, each way, ms. */
  latencyMs: number;
  /** What an agent is told. */
  eager: boolean;
  returning: boolean;
  preset: "default" | "replace" | "preserve";
}

/** A fault that a schedule has at all, has with one of these. */
const strengths = [0.02, 0.1, 0.3] as const;

export function drawSettings(random: Random): Settings {
  const often = random.pick([0.2, 0.5, 0.8]);
  const drawn = () => (random.chance(often) ? random.pick(strengths) : 0);
  return {
    appendBefore: drawn(),
    appendAfter: drawn(),
    otherCalls: drawn() / 4,
    diskFull: drawn(),
    crash: drawn(),
    pause: drawn(),
    clockJump: drawn(),
    modelFault: drawn(),
    modelLie: drawn(),
    toolThrow: drawn(),
    toolHang: drawn(),
    toolDeaf: drawn() / 2,
    toolOdd: drawn(),
    abort: drawn(),
    posts: drawn(),
    fork: drawn(),
    compaction: drawn(),
    approval: drawn(),
    actions: 2 + random.below(9),
    paceMs: random.pick([5, 60, 700, 9_000]),
    latencyMs: random.pick([0, 2, 20, 200]),
    eager: random.chance(0.3),
    returning: random.chance(0.3),
    preset: random.chance(0.7) ? "default" : random.pick(["replace", "preserve"]),
  };
}
