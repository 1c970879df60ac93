/**
 * A worker process of the fleet: `postgres:URL SCHEMA`, the same with `pooled:`, or `sqlite:DIR -`, its machine's name, a file for side effects. It
 * says `ready`, then each item it begins; on SIGTERM it drains and ends.
 */
import { createWorker, type Runtime } from "@pawl/core";
import { isAlive, nodeEffects, sqliteStore, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { fleetAgent } from "./fleet-agent.ts";

const [place = "", schema = "", machine = "", effectsFile = "", pauseMs = "5", concurrency = "4"] =
  process.argv.slice(2);
const effects = nodeEffects();
const mode = place.startsWith("pooled:") ? "pooled" : "own";
const url = place.replace(/^(postgres|pooled):(?=postgres:)/, "");

async function open(): Promise<{ runtime: Runtime; wake?: (notify: () => void) => () => void }> {
  if (place.startsWith("sqlite:")) {
    const store = await sqliteStore({ dir: place.slice("sqlite:".length), ...effects, isAlive });
    return { runtime: { store, effects, holder: thisHolder() } };
  }
  const store = await postgresStore({ url, schema, connections: 4, mode });
  // As on a machine of its own: nobody can look at our process, only at our connection.
  const runtime = { store, effects, holder: { ...thisHolder(), host: machine } };
  return { runtime, wake: (notify) => store.watchWork(notify) };
}

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}

const { runtime, wake } = await open();
const worker = createWorker({
  runtime,
  agent: (session) => fleetAgent(session.id, effectsFile, Number(pauseMs), say),
  concurrency: Number(concurrency),
  pollMs: 100,
  ...(wake ? { wake } : {}),
  onError: (error, session = "") => process.stderr.write(`${machine} ${session} ${(error as Error).stack}\n`),
});
process.once("SIGTERM", () => {
  void worker.drain().then(() => runtime.store.close());
});
say("ready");
