/**
 * The fleet at full size: `node packages/postgres/test/fleet-main.ts [sessions] [seconds] [inputs]`, default 300, 60 and 12.
 * Three workers; each second one is killed, one is stopped for twenty seconds, past its lease, and woken.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions, takeOverWords } from "./fleet.ts";
import { PostgresServer } from "./server.ts";

const [sessions = 300, seconds = 60, inputs = 12] = process.argv.slice(2).map(Number);
const stoppedSeconds = 20;

const folder = await mkdtemp(join(tmpdir(), "pawl-fleet-"));
const server = await PostgresServer.start();
const url = server.url("postgres");
const store = await postgresStore({ url });
const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
const fleet = new Fleet({ args: [`postgres:${url}`, "pawl"], runtime }, join(folder, "effects"), 20);
try {
  const ids = await makeSessions(runtime, sessions, inputs);
  const began = performance.now();
  const paused = await fleet.start();
  let members = [await fleet.start(), await fleet.start()];
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
    `${sessions} sessions, ${sessions * inputs} inputs, ${fleet.begun} side effects, ${kills} kills, ${took} s: all ended`,
  );
  console.log(`no side effect twice, no law broken; ${words}`);
} finally {
  fleet.killAll();
  await store.close();
  await server.end();
  await rm(folder, { recursive: true, force: true });
}
