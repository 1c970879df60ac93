/** Opening the store that is named: a folder of this machine, or a schema of a PostgreSQL server. */
import { mkdirSync } from "node:fs";
import { isPawlError, PawlError, type Runtime } from "@pawl/core";
import { nodeEffects, openRuntime, thisHolder } from "@pawl/core/node";
import { maskedUrls } from "./masked-url.ts";
import { type StoreLocation, storeFolder, storeLocation } from "./place.ts";
import { ofManyMachines } from "./tools/command-archive.ts";

export interface OpenedStore extends Runtime {
  /** What an operator should be told once. */
  warnings: readonly string[];
  /** Calls `notify` when there may be work; absent where the store must be asked. */
  wake?(notify: () => void): () => void;
}

/** A folder is made where it is missing; the tables of a server are not: `pawl migrate` does that. Fails with STORE_UNAVAILABLE. */
export function openStore(given: string | undefined, { concurrency = 0 } = {}): Promise<OpenedStore> {
  const location = storeLocation(given);
  return location.kind === "folder"
    ? openRuntime({ dir: location.dir })
    : openServer(location, storeFolder(given), concurrency);
}

/** What everybody shares that the process does besides driving: lists, posts, followers. */
const spareConnections = 4;

async function openServer(
  location: Extract<StoreLocation, { kind: "postgres" }>,
  beside: string,
  concurrency: number,
): Promise<OpenedStore> {
  const { connections = concurrency > 0 ? concurrency + spareConnections : undefined } = location;
  const { postgresStore } = await import("@pawl/postgres");
  makeBeside(beside);
  const store = await waited(
    location,
    postgresStore({
      ...serverOptions(location),
      ...(connections === undefined ? {} : { connections }),
      migration: "by-hand",
    }),
  );
  return {
    store,
    effects: nodeEffects(),
    holder: thisHolder(),
    warnings: [],
    wake: (notify) => store.watchWork(notify),
  };
}

export function serverOptions({ url, schema, mode }: Extract<StoreLocation, { kind: "postgres" }>) {
  return { url, schema, mode };
}

/** Other machines drive the same sessions: a command that is unknown here may have run there. */
function makeBeside(beside: string): void {
  try {
    mkdirSync(beside, { recursive: true, mode: 0o700 });
  } catch {
    // A machine that only looks needs none; the first command that does says that it cannot be made.
    return;
  }
  try {
    ofManyMachines(beside);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new PawlError("STORE_UNAVAILABLE", `${beside}, for what stands beside the log, cannot be written (${why})`, {
      cause,
    });
  }
}

/** Soon enough that nobody wonders; a server that answers is far quicker. */
const silentMs = 2_000;

/** A person who waits for a server is told so, and what it says comes with its address. */
export async function waited<T>(location: { host: string; word: string }, opening: Promise<T>): Promise<T> {
  const timer = setTimeout(
    () => process.stderr.write(`pawl: PostgreSQL at ${location.host} does not answer yet, still trying\n`),
    silentMs,
  );
  try {
    return await opening;
  } catch (error) {
    if (!isPawlError(error)) throw error;
    throw new PawlError(error.code, `${maskedUrls(location.word)}: ${error.message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
