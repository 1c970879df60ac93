/**
 * A ground of stores that answer from elsewhere, a thread or a server: a few of them, opened once, that worlds use in turn.
 *
 * Owns: whose turn it is, and that nothing counts as settled while a store owes an answer. Invariants:
 * 1. A world finds its store empty, and nothing of an earlier world reaches it.
 * 2. A world that has lost its store to a later one is told so with its next call: nothing passes by chance.
 */
import { PawlError } from "../src/error.ts";
import type { Store } from "../src/store/store.ts";
import { FakeEffects } from "../src/testing/fake.ts";
import type { Footing, Ground } from "./ground.ts";

/** How many worlds of one test file may live at once. */
const plots = 3;

/** A store, and how everything in it goes away. */
export interface Opened {
  store: Store;
  clear(): Promise<void>;
}

interface Plot extends Opened {
  footing: Footing | undefined;
  /** Calls under way, and watches. */
  calls: Set<Promise<unknown>>;
  watches: Set<() => void>;
}

export class PlotGround implements Ground {
  readonly name: string;
  readonly oneOf: number;
  readonly news = "hints";
  /** Worlds that have stood here. */
  worlds = 0;
  /** The one whose turn is next stands first. */
  readonly #plots: Plot[] = [];
  readonly #calls = new Set<Promise<unknown>>();

  private constructor(name: string, oneOf: number) {
    this.name = name;
    this.oneOf = oneOf;
  }

  /** `open` is told of whom a store must ask the time, and who lives. */
  static async make(
    { name, oneOf }: Pick<Ground, "name" | "oneOf">,
    open: (footing: () => Footing | undefined) => Promise<Opened>,
  ): Promise<PlotGround> {
    const made = new PlotGround(name, oneOf);
    for (let count = 0; count < plots; count += 1) {
      const plot: Partial<Plot> = { footing: undefined, calls: new Set(), watches: new Set() };
      made.#plots.push(Object.assign(plot, await open(() => plot.footing)) as Plot);
    }
    return made;
  }

  effects(): FakeEffects {
    return new PlotEffects(this.#calls);
  }

  open(footing: Footing): Store {
    const plot = this.#plots.shift();
    if (!plot) throw new Error("a ground without plots");
    this.#plots.push(plot);
    this.worlds += 1;
    plot.footing = footing;
    for (const end of plot.watches) end();
    plot.watches.clear();
    const before = [...plot.calls];
    const ready = this.#asking(plot, async () => {
      await Promise.allSettled(before);
      await plot.clear();
    });
    return this.#storeOf(plot, footing, ready);
  }

  async close(): Promise<void> {
    for (const { store } of this.#plots) await store.close();
  }

  #storeOf(plot: Plot, footing: Footing, ready: Promise<void>): Store {
    const assertOurs = () => {
      if (plot.footing === footing) return;
      throw new PawlError("STORE_CLOSED", `more than ${plots} worlds live at once: this one has lost its store`);
    };
    const facade: Partial<Store> = {
      watch: (session, notify) => {
        assertOurs();
        const end = plot.store.watch(session, notify);
        plot.watches.add(end);
        return end;
      },
      // The store outlives the world.
      close: async () => {},
    };
    // What a test puts in place of a member stays with the facade.
    return new Proxy(facade as Store, {
      get: (own, name: keyof Store) => {
        if (name in own) return own[name];
        const member: unknown = Reflect.get(plot.store, name);
        if (typeof member !== "function") return member;
        return (...given: unknown[]) =>
          this.#asking(plot, async () => {
            await ready;
            assertOurs();
            return await Reflect.apply(member, plot.store, given);
          });
      },
    });
  }

  /** A call that is counted until it is answered. */
  #asking<T>(plot: Plot, ask: () => Promise<T>): Promise<T> {
    const asked = ask();
    const sets = [plot.calls, this.#calls];
    for (const calls of sets) calls.add(asked);
    const answered = () => {
      for (const calls of sets) calls.delete(asked);
    };
    asked.then(answered, answered);
    return asked;
  }
}

/** Nothing happens without time as long as stores owe no answer: only then may time pass. */
class PlotEffects extends FakeEffects {
  readonly #calls: ReadonlySet<Promise<unknown>>;

  constructor(calls: ReadonlySet<Promise<unknown>>) {
    super();
    this.#calls = calls;
  }

  override async settle(): Promise<void> {
    await super.settle();
    while (this.#calls.size > 0) {
      await Promise.race(this.#calls).catch(() => {});
      await super.settle();
    }
  }
}
