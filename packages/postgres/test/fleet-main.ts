/**
 * The fleet at full size: `node packages/postgres/test/fleet-main.ts [postgres|sqlite] [sessions] [seconds] [inputs]
 * [workers]`, default postgres, 300, 60, 12 and 3. Each second one worker is killed; the first is stopped for twenty seconds, past its
 * lease, and woken.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, nodeEffects, sqliteStore, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, type FleetPlace, makeSessions, sqliteIsWritable, takeOverWords } from "./fleet.ts";
import { PostgresServer } from "./server.ts";

const [kind = "postgres", ...numbers] = process.argv.slice(2);
const [sessions = 300, seconds = 60, inputs = 12, workers = 3] = numbers.map(Number);
const stoppedSeconds = 20;

const folder = await mkdtemp(join(tmpdir(), "pawl-fleet-"));
const server = kind === "postgres" ? await PostgresServer.start() : undefined;
const place = await placeOf();
const { runtime } = place;
const fleet = new Fleet(place, join(folder, "effects"), 20);
try {
  const ids = await makeSessions(runtime, sessions, inputs);
  const began = performance.now();
  const paused = await fleet.start();
  let members = await Promise.all(Array.from({ length: workers - 1 }, () => fleet.start()));
  let kills = 0;
  for (let second = 0; second < seconds; second += 1) {
    const next = sleep(1_000);
    if (second === 5) await fleet.stop(paused);
    if (second === 5 + stoppedSeconds) fleet.wake(paused);
    const [oldest, ...rest] = members;
    if (oldest) members = [...rest, await fleet.kill(oldest)];
    kills += 1;
    await next;
  }
  fleet.wake(paused);
  await allEnded(runtime, ids, inputs);
  const took = ((performance.now() - began) / 1_000).toFixed(1);
  await fleet.drain();
  const words = takeOverWords(await fleet.reckon(ids, inputs));
  console.log(
    `${kind}, ${workers} workers: ${sessions} sessions, ${sessions * inputs} inputs, ${fleet.begun} side effects, ${kills} kills, ${took} s: all ended`,
  );
  console.log(`no side effect twice, no law broken; ${words}`);
} finally {
  fleet.killAll();
  await runtime.store.close();
  await server?.end();
  await rm(folder, { recursive: true, force: true });
}

async function placeOf(): Promise<FleetPlace> {
  const rest = { effects: nodeEffects(), holder: thisHolder() };
  if (server) {
    const url = server.url("postgres");
    return { args: [`postgres:${url}`, "pawl"], runtime: { store: await postgresStore({ url }), ...rest } };
  }
  const dir = join(folder, "store");
  return {
    args: [`sqlite:${dir}`, "-"],
    isWritable: () => sqliteIsWritable(join(dir, "pawl.db")),
    runtime: { store: await sqliteStore({ dir, ...rest.effects, isAlive }), ...rest },
  };
}
