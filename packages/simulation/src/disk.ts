/**
 * The one store of a world, as it fails: before a write, after it, for want of space. Between processes and a store that
 * knows none of this.
 */
import { PawlError, type Store } from "@pawl/core";
import type { Ground } from "./ground.ts";
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

/** An empty store, and whether it answers at once. */
export interface Opened {
  store: Store;
  answers: Ground["answers"];
}

export class Disk {
  readonly store: Store;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #referee: Referee;
  readonly #answers: Ground["answers"];
  #full = false;
  /** Nothing fails any more. */
  calm = false;

  constructor(world: World, settings: Settings, referee: Referee, { store, answers }: Opened) {
    this.#world = world;
    this.#settings = settings;
    this.#referee = referee;
    this.store = store;
    this.#answers = answers;
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
    const answer = (this.store[name] as (...given: unknown[]) => Promise<unknown>)(...given);
    if (this.#answers === "later") this.#world.owe(answer);
    const result: unknown = await answer;
    this.#referee.performed(name, given, result);
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
