/** The worlds of core's turn tests over a real PostgreSQL: their time stands while the database works. */
import type { Store } from "@pawl/core";
import { nodeEffects } from "@pawl/core/node";
import { FakeEffects } from "@pawl/core/testing";
import postgres from "postgres";
import { TurnWorld } from "../../core/test/turn-world.ts";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const tables = ["session", "record", "post", "mail", "name", "partial", "snapshot"];
/** How often the store asks for what it may not have heard: by a clock on the wall, which has no place in these tests. */
const polls = new Set([100, 1_000]);

export interface TurnGround {
  world(): Promise<TurnWorld>;
  end(): Promise<void>;
}

/** `pooled`: nothing is heard but what this very process did, so that what is asked for can be counted. */
export async function turnGround(mode: "own" | "pooled"): Promise<TurnGround> {
  const server = await PostgresServer.start();
  const schema = server.schema();
  const { timers } = nodeEffects();
  let current: TurnWorld | undefined;
  const store = await postgresStore({
    url: server.url("postgres"),
    schema,
    mode,
    clock: { now: () => current?.effects.time ?? 0, monotonic: () => 0 },
    timers: { after: (ms, fn) => (polls.has(ms) ? () => {} : timers.after(ms, fn)) },
    isAlive: (holder) => current?.isAlive(holder),
  });
  const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
  return {
    async world() {
      await sql.unsafe(`TRUNCATE ${tables.map((table) => `${schema}.${table}`).join(", ")}`);
      const asked = { count: 0 };
      current = new TurnWorld(new DatabaseEffects(asked), () => counted(store, asked));
      return current;
    },
    async end() {
      await sql.end({ timeout: 1 });
      await store.close();
      await server.end();
    },
  };
}

interface Asked {
  /** Operations that the database has not answered. */
  count: number;
}

/** Nothing happens without time as long as the database works: only then may time pass. */
class DatabaseEffects extends FakeEffects {
  readonly #asked: Asked;

  constructor(asked: Asked) {
    super();
    this.#asked = asked;
  }

  override async settle(): Promise<void> {
    do await super.settle();
    while (this.#asked.count > 0);
  }
}

/** What is asked of the store is counted until it is answered. What a world puts in its place stays that world's. */
function counted(inner: Store, asked: Asked): Store {
  const own = new Map<string | symbol, unknown>();
  return new Proxy(inner, {
    set: (_, name, value) => Boolean(own.set(name, value)),
    get(target, name) {
      if (own.has(name)) return own.get(name);
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name === "watch") return member.bind(target);
      return async (...given: unknown[]): Promise<unknown> => {
        asked.count += 1;
        try {
          return await Reflect.apply(member, target, given);
        } finally {
          asked.count -= 1;
        }
      };
    },
  });
}
