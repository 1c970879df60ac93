/** The universal crash test of core, a sample of it, on a real PostgreSQL. */
import { after } from "node:test";
import type { Store } from "@pawl/core";
import { FakeEffects } from "@pawl/core/testing";
import postgres from "postgres";
import { universalCrash } from "../../core/test/turn-crash-suite.ts";
import { TurnWorld } from "../../core/test/turn-world.ts";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
const schema = server.schema();
let current: TurnWorld | undefined;
const store = await postgresStore({
  url: server.url("postgres"),
  schema,
  clock: { now: () => current?.effects.time ?? 0, monotonic: () => 0 },
  isAlive: (holder) => current?.isAlive(holder),
});
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await store.close();
  await server.end();
});

/** Operations that the database has not answered. */
let asked = 0;

/** Nothing happens without time as long as the database works: only then may time pass. */
class DatabaseEffects extends FakeEffects {
  override async settle(): Promise<void> {
    do await super.settle();
    while (asked > 0);
  }
}

/** What is asked of the store is counted until it is answered. */
function counted(inner: Store): Store {
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name === "watch") return member.bind(target);
      return async (...given: unknown[]): Promise<unknown> => {
        asked += 1;
        try {
          return await Reflect.apply(member, target, given);
        } finally {
          asked -= 1;
        }
      };
    },
  });
}

const tables = ["session", "record", "post", "mail", "name", "partial", "snapshot"];

universalCrash("postgres", {
  oneOf: 23,
  async world() {
    await sql.unsafe(`TRUNCATE ${tables.map((table) => `${schema}.${table}`).join(", ")}`);
    current = new TurnWorld(new DatabaseEffects(), () => counted(store));
    return current;
  },
});
