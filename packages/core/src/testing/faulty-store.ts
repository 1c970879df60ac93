/**
 * A store that fails at one append, over a store that does not: every crash and every disk error that a driver can meet
 * between two facts.
 *
 * Owns: where and for how long it fails. Does not own: what a real store tears on disk (the store contract).
 */
import { PawlError } from "../error.ts";
import type { AppendBatch, Store } from "../store/store.ts";

export interface StoreFault {
  /** Which append fails: 1 is the first. */
  append: number;
  /**
   * - `before`: the store was not reached.
   * - `inside`: the store began and took it back: nothing is durable, and others have moved on meanwhile.
   * - `after`: the batch is durable, and its writer hears of a failure all the same.
   */
  where: "before" | "inside" | "after";
  /** `for-good`: nothing reaches the store any more, as when the process has died. */
  lasts: "once" | "for-good";
}

export interface FaultyStore extends Store {
  /** Appends asked for so far: run a scenario without a fault to learn where it may fail. */
  readonly appends: number;
  /** Whether the fault has come to pass. */
  readonly failed: boolean;
}

export function faultyStore(store: Store, fault?: StoreFault): FaultyStore {
  let appends = 0;
  let failed = false;
  const refuse = (what: string): never => {
    throw new PawlError("STORE_UNAVAILABLE", `the store fails on purpose: ${what}`);
  };
  const append = async (batch: AppendBatch): Promise<void> => {
    appends += 1;
    if (appends !== fault?.append) return store.append(batch);
    failed = true;
    if (fault.where === "after") await store.append(batch);
    // A few turns of the event loop's queue: what is not waiting for this append goes on.
    if (fault.where === "inside") for (let turn = 0; turn < 8; turn += 1) await undefined;
    return refuse(`append ${appends}, ${fault.where}`);
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "appends") return appends;
      if (name === "failed") return failed;
      const member: unknown = Reflect.get(target, name);
      // To watch is a hint, and to close is allowed to the dead.
      if (typeof member !== "function" || name === "watch" || name === "close") return bound(member, target);
      return async (...given: unknown[]): Promise<unknown> => {
        if (failed && fault?.lasts === "for-good") return refuse(`${String(name)} after its end`);
        return name === "append" ? append(given[0] as AppendBatch) : Reflect.apply(member, target, given);
      };
    },
  }) as FaultyStore;
}

function bound(member: unknown, target: Store): unknown {
  return typeof member === "function" ? member.bind(target) : member;
}
