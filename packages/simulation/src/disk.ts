/**
 * The one store of a world, as it fails: before a write, after it, for want of space. Between processes and a store that
 * knows none of this.
 */
import { type Clock, PawlError, type Store } from "@pawl/core";
import type { Referee } from "./referee.ts";
import type { Settings } from "./settings.ts";
import type { World } from "./world.ts";

export type StoreCall = Exclude<keyof Store, "watch" | "close">;

const writes: ReadonlySet<StoreCall> = new Set<StoreCall>([
  "create",
  "append",
  "erase",
  "delete",
  "setName",
  "post",
  "acquireLease",
  "renewLease",
  "releaseLease",
  "writePartial",
  "saveSnapshot",
  "putBlob",
]);

/** How long a disk stays full: longer than a lease, shorter than a driver's patience. */
const fullMs = 40_000;

/** What the referee has to look at twice. */
const rare: ReadonlySet<StoreCall> = new Set<StoreCall>(["erase", "delete", "setName", "claimWork"]);

/** What a store's leases are counted by. Whole milliseconds: stores keep no others. */
export class StoreClock implements Clock {
  aheadMs = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  now(): number {
    return Math.floor(startOfTime + this.#world.now + this.aheadMs);
  }

  monotonic(): number {
    return this.#world.now;
  }
}

export class Disk {
  readonly store: Store;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #referee: Referee;
  readonly #clock: StoreClock;
  #full = false;
  /** Nothing fails any more. */
  calm = false;

  constructor(
    world: World,
    settings: Settings,
    referee: Referee,
    { store, clock }: { store: Store; clock: StoreClock },
  ) {
    this.#world = world;
    this.#settings = settings;
    this.#referee = referee;
    this.store = store;
    this.#clock = clock;
  }

  jumpClock(ms: number): void {
    this.#clock.aheadMs += ms;
  }

  fill(): void {
    if (this.#full) return;
    this.#full = true;
    this.#world.after(fullMs, "the disk has space again", () => {
      this.#full = false;
    });
  }

  /** One call of a process, as it reaches the store. */
  async perform(name: StoreCall, given: unknown[]): Promise<unknown> {
    const { random } = this.#world;
    const { appendBefore, appendAfter, otherCalls } = this.#settings;
    if (!this.calm && writes.has(name)) {
      if (this.#full) throw new PawlError("STORE_FULL", "the disk is full");
      if (random.chance(name === "append" ? appendBefore / 4 : otherCalls / 4)) throw unavailable(name, "before");
    }
    const result: unknown = await (this.store[name] as (...given: unknown[]) => Promise<unknown>)(...given);
    if (rare.has(name)) await this.#referee.performedRarely(name, given, result, this.store);
    else this.#referee.performed(name, given, result);
    if (!this.calm && name === "append" && random.chance(appendAfter / 4)) throw unavailable(name, "after");
    return result;
  }

  get full(): boolean {
    return this.#full && !this.calm;
  }
}

export const startOfTime = Date.UTC(2026, 0, 1);

function unavailable(name: string, where: string): PawlError {
  return new PawlError("STORE_UNAVAILABLE", `the store fails on purpose: ${name}, ${where}`);
}
