/** One schedule after another in one schema of a PostgreSQL database, which is emptied between them, and goes at the end. */
import { postgresStore } from "@pawl/postgres";
import postgres from "postgres";
import { type Footing, type Ground, promptly } from "./ground.ts";

export async function postgresGround(url: string): Promise<Ground> {
  let footing: Footing | undefined;
  const schema = `simulation_${process.pid}`;
  const store = await postgresStore({
    url,
    schema,
    connections: 2,
    clock: { now: () => footing?.clock.now() ?? 0, monotonic: () => 0 },
    isAlive: (holder) => footing?.isAlive(holder),
  });
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const tables = ["session", "record", "post", "mail", "name", "partial", "snapshot", "blob"];
  const clear = tables.map((table) => `DELETE FROM ${schema}.${table}`).join("; ");
  return {
    answers: "later",
    async open(next) {
      footing = next;
      await sql.unsafe(clear);
      return promptly(store);
    },
    async close() {
      await store.close();
      await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
      await sql.end();
    },
  };
}
