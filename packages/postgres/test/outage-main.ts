/**
 * Bad weather at full size: `node packages/postgres/test/outage-main.ts [seconds] [sessions] [inputs]`, default 60, 60 and 4. Three
 * workers behind a network of 50 to 200 ms each way; every ten seconds something else happens to it or to the database. At the end
 * the weather clears, and everything must have ended. Prints what happened, and what the largest worker needed.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const [seconds = 60, sessions = 60, inputs = 4] = process.argv.slice(2).map(Number);

const folder = await mkdtemp(join(tmpdir(), "pawl-outage-"));
const server = await PostgresServer.start();
const network = await Network.to(server.port);
network.pace = { delayMs: () => 50 + Math.random() * 150 };
const store = await postgresStore({ url: server.url("postgres"), patienceMs: 120_000 });
const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
const place = `postgres:${server.url("postgres", network.port)}`;
const fleet = new Fleet({ args: [place, "pawl"], runtime }, join(folder, "effects"), 20);

const weather: { [name: string]: () => Promise<void> } = {
  "restart, fast": () => restart("SIGINT"),
  "all lines cut": async () => network.cut(),
  "all lines dead without a word": async () => network.forsake(),
  crash: () => restart("SIGKILL"),
  "nothing passes for 7 s": () => mute(7_000),
  "nothing passes for 25 s": () => mute(25_000),
  "away for 12 s": () => restart("SIGINT", 12_000),
};

async function restart(signal: "SIGINT" | "SIGKILL", awayMs = 0): Promise<void> {
  await server.halt(signal);
  await sleep(awayMs);
  await server.boot();
}

async function mute(ms: number): Promise<void> {
  const open = network.hold();
  await sleep(ms);
  open();
}

/** Of the largest worker, MB; 0 where the system does not tell. */
function memory(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    try {
      return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
    } catch {
      return 0;
    }
  });
  return Math.round(Math.max(0, ...sizes));
}

try {
  const ids = await makeSessions(runtime, sessions, inputs);
  const members = [await fleet.start(), await fleet.start(), await fleet.start()];
  const pids = members.map(({ child }) => child.pid ?? 0);
  const began = performance.now();
  const ended = allEnded(runtime, ids, inputs);
  const names = Object.keys(weather);
  const happened: string[] = [];
  for (let at = 0; performance.now() - began < seconds * 1_000; at += 1) {
    await sleep(8_000);
    const name = names[at % names.length] ?? "";
    const before = [fleet.begun, memory(pids)];
    await weather[name]?.();
    happened.push(name);
    console.log(`${name}: ${before[0]} side effects before, ${fleet.begun} after; ${before[1]} MB, ${memory(pids)} MB`);
  }
  network.pace = undefined;
  await ended;
  const took = ((performance.now() - began) / 1_000).toFixed(1);
  await fleet.drain();
  const unknown = await fleet.unknown(ids);
  await fleet.reckon(ids, inputs);
  console.log(
    `${sessions * inputs} inputs, ${fleet.begun} side effects, ${happened.length} faults, ${took} s: all ended`,
  );
  console.log(`no side effect twice, no law broken; ${unknown} outcomes unknown`);
} finally {
  fleet.killAll();
  await store.close();
  await network.close();
  await server.end();
  await rm(folder, { recursive: true, force: true });
}
