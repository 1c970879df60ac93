/**
 * What may go wrong in one schedule: drawn from its seed, so that some schedules have one fault and others most of them.
 * A fault that is always there hides what happens without it.
 */
import { Random } from "./random.ts";

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
  /** Rare, since each costs: a record that rots on disk; a payload erased; a session deleted; a name moved by a rewind. */
  damage: number;
  erase: number;
  remove: number;
  names: number;
  /** A person closes what a dead driver left, others watch, workers claim and are drained, an agent gives tasks to another. */
  settle: number;
  watch: number;
  workers: number;
  tasks: number;
  /** The store's own clock jumps; that a holder is dead is known by its expiry alone (1). */
  storeClock: number;
  remote: number;
  /** Snapshots of the workspace fail in more ways; nothing runs without one (1); nothing is kept at all (1). */
  snapshotFault: number;
  strictSnapshots: number;
  noSnapshots: number;
  /** A hint that something came to a session tarries: what is decided must not rest on it. */
  lateNews: number;
}

/** A fault that a schedule has at all, has with one of these. */
const strengths = [0.02, 0.1, 0.3] as const;
/**
 * How many schedules have rare faults at all, and how likely each is there. Those that make a schedule half as long again are
 * rarer still: all of them together cost a thirtieth.
 */
const rarely = 0.1;
const rareOften = 0.2;
const costlyOften = 0.07;

/** `rare`: a stream of its own, so that a seed without a rare fault is what it was before there were any. */
export function drawSettings(random: Random, rare: Random = random): Settings {
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
    ...drawRare(rare),
  };
}

type Rare = ReturnType<typeof drawRare>;

function drawRare(random: Random) {
  const any = random.chance(rarely);
  const strength = (often: number) => (any && random.chance(often) ? random.pick([0.2, 0.4]) : 0);
  const drawn = () => strength(rareOften);
  const costly = () => strength(costlyOften);
  const either = () => (drawn() > 0 ? 1 : 0);
  const storeClock = drawn();
  const remote = either();
  return {
    damage: costly(),
    erase: drawn(),
    remove: drawn(),
    names: drawn(),
    settle: drawn(),
    watch: costly(),
    workers: costly(),
    tasks: costly(),
    storeClock,
    // Where holders are known to be dead, a lease that lasts too long shows nothing.
    remote: storeClock > 0 ? 1 : remote,
    snapshotFault: drawn(),
    strictSnapshots: either(),
    noSnapshots: either(),
    lateNews: drawn(),
  };
}

/** By name, for whoever wants one of them in every schedule. */
export const rareFaults = Object.keys(drawRare(new Random(1))) as (keyof Rare)[];
