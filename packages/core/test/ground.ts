/**
 * What the worlds of tests stand on: a store and the effects that go with it. The memory store, unless a program that is
 * imported before the test file (`node --import`) has put another one there: the same files then run on that store.
 */
import type { Effects } from "../src/effects.ts";
import { memoryStore } from "../src/store/memory.ts";
import type { Holder, Store } from "../src/store/store.ts";
import { FakeEffects } from "../src/testing/fake.ts";

/** What a store is told by the world that it is opened for. */
export interface Footing {
  effects: Pick<Effects, "clock">;
  isAlive?(holder: Holder): boolean | undefined;
}

export interface Ground {
  name: string;
  /** Of so many cases one is played where a suite tries out all of them: a sample, where a store is slow. */
  oneOf: number;
  /** Whether a watcher is told only of what has come (`exact`), or also now and then for nothing, as the contract allows. */
  news: "exact" | "hints";
  effects(): FakeEffects;
  /** An empty store. Whatever it waits for belongs to what those effects settle. */
  open(footing: Footing): Store;
}

const memoryGround: Ground = {
  name: "memory",
  oneOf: 1,
  news: "exact",
  effects: () => new FakeEffects(),
  open: ({ effects: { clock }, isAlive = () => undefined }) => memoryStore({ clock, isAlive }),
};

let current = memoryGround;

export function ground(): Ground {
  return current;
}

/** For all worlds of this process that are made from now on. */
export function standOn(other: Ground): void {
  current = other;
}

/** Asked of each case in turn: whether this one is played. */
export function sampler(): () => boolean {
  let cases = 0;
  return () => cases++ % current.oneOf === 0;
}

/** Runs of a property, where `all` are what it has with a quick store. */
export function runsOf(all: number): number {
  return Math.ceil(all / current.oneOf);
}
