/**
 * Where the sessions of a schedule lie: in memory, or in a store that answers from elsewhere. The world is the same for all,
 * and so is the trace of a seed: a store may take its time and must not be seen to.
 */
import { type Clock, type Holder, memoryStore, type Store } from "@pawl/core";
import { Watchers } from "@pawl/core/store";
import type { World } from "./world.ts";

export interface Footing {
  clock: Clock;
  isAlive(holder: Holder): boolean | undefined;
}

export interface Ground {
  /** An empty store, for the next schedule. The one before is over. */
  open(footing: Footing): Store | Promise<Store>;
  /** Whether answers come of their own time: the world waits for each. */
  readonly answers: "at once" | "later";
  close(): Promise<void>;
}

export const memoryGround: Ground = {
  open: memoryStore,
  answers: "at once",
  close: async () => {},
};

/** `memory`, `sqlite`, or `postgres://...`. What opens the others is loaded where it is asked for. */
export async function groundOf(store: string): Promise<Ground> {
  if (store === "memory") return memoryGround;
  if (store === "sqlite") return (await import("./sqlite-ground.ts")).sqliteGround();
  return (await import("./postgres-ground.ts")).postgresGround(store);
}

/** Each answer of the store is waited for before anything else happens, whoever asked. */
export function owing(store: Store, world: World): Store {
  return new Proxy(store, {
    get: (of, name) => {
      const member: unknown = Reflect.get(of, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown => {
        const answer: unknown = member.apply(of, given);
        if (answer instanceof Promise) world.owe(answer);
        return answer;
      };
    },
  });
}

/**
 * News at the moment of the answer, as the memory store gives it, and none besides: a hint that comes in real time would come
 * to another moment of the world each time.
 */
export function promptly(store: Store): Store {
  const watchers = new Watchers();
  const facade: Pick<Store, "watch" | "create" | "append" | "post" | "delete"> = {
    watch: (session, notify) => watchers.add(session, notify),
    create: async (session) => {
      await store.create(session);
      watchers.notify(session.session, "any");
    },
    append: async (batch) => {
      await store.append(batch);
      watchers.notify(batch.session, "records");
    },
    post: async (session, post) => {
      const said = await store.post(session, post);
      if (said === "accepted") watchers.notify(session, "posts");
      return said;
    },
    delete: async (session) => {
      await store.delete(session);
      watchers.notify(session, "any");
    },
  };
  return new Proxy(store, {
    get: (of, name) => {
      if (name in facade) return Reflect.get(facade, name);
      const member: unknown = Reflect.get(of, name);
      return typeof member === "function" ? member.bind(of) : member;
    },
  });
}
