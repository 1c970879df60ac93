/** Three worker processes, killed and paused while they drive: on PostgreSQL, and on one SQLite folder with the same code. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { isAlive, nodeEffects, sqliteStore, thisHolder } from "@pawl/core/node";
import postgres from "postgres";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, type FleetPlace, makeSessions, sqliteIsWritable, takeOverWords } from "./fleet.ts";
import { actsPerTurn } from "./fleet-agent.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-fleet-"));
const server = await PostgresServer.start();
after(async () => {
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const effects = nodeEffects();
const inputs = 1;

interface Ground {
  sessions: number;
  place: FleetPlace;
  /** Lets the leases of a process run out at once by the store's clock: nobody waits fifteen seconds for it. */
  expire(pid: number): Promise<void>;
}

/** Faults come where the work has got to, not when a clock says so. */
async function run({ sessions, place, expire }: Ground, name: string): Promise<string> {
  const whole = sessions * inputs * actsPerTurn;
  const fleet = new Fleet(place, join(root, `${name}.effects`), 5);
  try {
    const ids = await makeSessions(place.runtime, sessions, inputs);
    let [one, two, three] = await Promise.all([fleet.start(), fleet.start(), fleet.start()]);
    await fleet.reached(whole * 0.1);
    one = await fleet.kill(one);
    await fleet.reached(whole * 0.25);
    await fleet.stop(two);
    await expire(two.child.pid ?? 0);
    await fleet.reached(whole * 0.4);
    three = await fleet.kill(three);
    await fleet.reached(whole * 0.55);
    fleet.wake(two);
    one = await fleet.kill(one);
    await fleet.reached(whole * 0.7);
    three = await fleet.kill(three);
    await allEnded(place.runtime, ids, inputs);
    await fleet.drain();
    return takeOverWords(await fleet.reckon(ids, inputs));
  } finally {
    fleet.killAll();
    await place.runtime.store.close();
  }
}

describe("L3 L4 L7 L8: a fleet of three, four killed, one paused past its lease and woken", () => {
  test("on PostgreSQL: every input ends, no side effect happens twice, the laws hold", {
    timeout: 300_000,
  }, async (t) => {
    const url = server.url("postgres");
    const schema = server.schema();
    const store = await postgresStore({ url, schema });
    const runtime = { store, effects, holder: thisHolder() };
    const expire = async (pid: number) => {
      const sql = postgres(url, { max: 1 });
      await sql.unsafe(`UPDATE ${schema}.session SET expires_at = 0 WHERE leased <> 0 AND holder::json->>'pid' = $1`, [
        String(pid),
      ]);
      await sql.end();
    };
    t.diagnostic(
      await run({ sessions: 30, place: { args: [`postgres:${url}`, schema], runtime }, expire }, "postgres"),
    );
  });

  test("on one SQLite folder, with the same code", { timeout: 300_000 }, async (t) => {
    const dir = join(root, "sqlite");
    const path = join(dir, "pawl.db");
    const store = await sqliteStore({ dir, ...effects, isAlive });
    const runtime = { store, effects, holder: thisHolder() };
    const expire = async (pid: number) => {
      const db = new DatabaseSync(path, { timeout: 5_000 });
      db.prepare("UPDATE lease SET expires_at = 0 WHERE json_extract(holder, '$.pid') = ?").run(pid);
      db.close();
    };
    const place: FleetPlace = { args: [`sqlite:${dir}`, "-"], runtime, isWritable: () => sqliteIsWritable(path) };
    t.diagnostic(await run({ sessions: 60, place, expire }, "sqlite"));
  });
});
