/**
 * A process of the world: its runtime, its clock, its death.
 *
 * Owns: what reaches a process and what leaves it. Invariants:
 * 1. Nothing of a dead process happens any more, but what it had already sent to the store may still arrive there.
 * 2. What comes to a paused one waits until it is woken; its clocks go on.
 * 3. Its calls reach the store in the order in which it made them.
 */
import type { Effects, Holder, Runtime, Store } from "@pawl/core";
import { type Disk, type StoreCall, startOfTime } from "./disk.ts";
import type { Settings } from "./settings.ts";
import type { World } from "./world.ts";

/** How long a call of a process that has died may still be under way to the store. */
const longestWayMs = 2_000;
/** How long a hint may, as where notifications are missed and a store has to be asked. */
const latestNewsMs = 5_000;

export class Process {
  readonly name: string;
  readonly runtime: Runtime;
  alive = true;
  readonly #world: World;
  readonly #disk: Disk;
  readonly #latencyMs: number;
  readonly #lateNews: number;
  readonly #onCall: () => void;
  /** Seconds of this process in one of the world. */
  readonly #drift: number;
  #wallSkew = 0;
  #paused = false;
  #backlog: (() => void)[] = [];
  #lastArrival = 0;

  /** `onCall`: a call has just left for the store. */
  constructor(world: World, disk: Disk, settings: Settings, name: string, onCall: () => void) {
    this.#onCall = onCall;
    this.#world = world;
    this.#disk = disk;
    this.#latencyMs = settings.latencyMs;
    this.#lateNews = settings.lateNews;
    this.#drift = 1 + (world.random.next() - 0.5) / 1_000;
    this.name = name;
    const holder: Holder = { id: name, host: "sim", boot: "boot", pid: 1, start: name };
    this.runtime = { store: this.#storeOf(), effects: this.#effectsOf(), holder };
  }

  get paused(): boolean {
    return this.#paused;
  }

  crash(): void {
    this.alive = false;
    this.#backlog = [];
  }

  pause(): void {
    this.#paused = true;
  }

  wake(): void {
    this.#paused = false;
    for (const happen of this.#backlog.splice(0)) happen();
  }

  jumpClock(ms: number): void {
    this.#wallSkew += ms;
  }

  /** Something comes to this process, later. */
  after(ms: number, label: string, happen: () => void): () => void {
    let wanted = true;
    const arrive = () => {
      if (!this.alive || !wanted) return;
      if (this.#paused) this.#backlog.push(arrive);
      else happen();
    };
    const cancel = this.#world.after(ms, label, arrive, this.name);
    return () => {
      wanted = false;
      cancel();
    };
  }

  #effectsOf(): Effects {
    const world = this.#world;
    return {
      clock: {
        now: () => Math.floor(startOfTime + world.now + this.#wallSkew),
        monotonic: () => world.now * this.#drift,
      },
      timers: { after: (ms, fn) => this.after(ms / this.#drift, "timer", fn) },
      random: () => world.random.next(),
      id: (prefix) => world.id(prefix),
    };
  }

  #storeOf(): Store {
    const { store } = this.#disk;
    return new Proxy(store, {
      get: (_, name: keyof Store) => {
        if (name === "watch")
          return (session: string, notify: (news: "records" | "posts" | "any") => void) =>
            store.watch(session, (news) => void this.after(this.#newsLatency(), "news", () => notify(news)));
        if (name === "close") return async () => {};
        return (...given: unknown[]) => this.#call(name, given);
      },
    });
  }

  #latency(): number {
    return this.#latencyMs === 0 ? 0 : this.#world.random.next() * this.#latencyMs;
  }

  #newsLatency(): number {
    const { random } = this.#world;
    if (this.#lateNews > 0 && random.chance(this.#lateNews)) return random.below(latestNewsMs);
    return this.#latency();
  }

  #call(name: StoreCall, given: unknown[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (!this.alive) return promise;
    const world = this.#world;
    this.#lastArrival = Math.max(this.#lastArrival, world.now + this.#latency());
    const send = (mayTarry: boolean): void => {
      // Sent before its death: it may be lost on the way, arrive, or arrive late.
      if (!this.alive && world.random.chance(0.3)) return;
      if (!this.alive && mayTarry && world.random.chance(0.7))
        return void world.after(world.random.below(longestWayMs), `${name}, late`, () => send(false), this.name);
      this.#disk.perform(name, given).then(
        (value) => void this.after(this.#latency(), `${name} done`, () => resolve(value)),
        (error: unknown) => void this.after(this.#latency(), `${name} failed`, () => reject(error)),
      );
    };
    world.after(this.#lastArrival - world.now, name, () => send(true), this.name);
    this.#onCall();
    return promise;
  }
}
