/** A PostgreSQL with Pawl's store and pg-boss in it, for one test file. */
import { setTimeout as pause } from "node:timers/promises";
import type { Runtime } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "@pawl/postgres";
import { PgBoss } from "pg-boss";
import { PostgresServer } from "../../postgres/test/server.ts";

export interface Ground {
  url: string;
  runtime: Runtime;
  boss: PgBoss;
  end(): Promise<void>;
}

export async function startGround(): Promise<Ground> {
  const server = await PostgresServer.start();
  const url = server.url("postgres");
  const store = await postgresStore({ url, connections: 4 });
  const boss = await startBoss(url);
  return {
    url,
    runtime: { store, effects: nodeEffects(), holder: thisHolder() },
    boss,
    async end() {
      await boss.stop({ graceful: false });
      await store.close();
      await server.end();
    },
  };
}

/** Looks at schedules and at what expired every second, where a deployment would once a minute. */
export async function startBoss(connectionString: string): Promise<PgBoss> {
  const often = { cronMonitorIntervalSeconds: 1, cronWorkerIntervalSeconds: 1, monitorIntervalSeconds: 1 };
  const boss = new PgBoss({ connectionString, max: 4, superviseIntervalSeconds: 1, ...often });
  // What cannot be done because a test has ended the server is no fault of the test.
  boss.on("error", () => {});
  return boss.start();
}

/** Asks until it is so; the runner's timeout is the bound. */
export async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await pause(20);
  }
}
