/**
 * A process of the rows about take-overs: `node bench/postgres-worker.ts worker URL SCHEMA INDEX` drives what is posted, on a
 * machine of its own name; the model of a session `sINDEX-...` never ends its answer. `... lock URL NUMBER` holds an
 * advisory lock. Each says `ready`.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createWorker } from "@pawl/core";
import postgres from "postgres";
import { deltaModel } from "./model.ts";
import { postgresRuntime } from "./postgres.ts";

const [role, url = "", place = "", index = ""] = process.argv.slice(2);

async function work(): Promise<void> {
  const runtime = await postgresRuntime(url, place);
  const holder = { ...runtime.holder, host: `machine-${index}` };
  createWorker({
    runtime: { ...runtime, holder },
    agent: ({ id }) => ({ model: id.startsWith(`s${index}-`) ? endless() : deltaModel(20) }),
    wake: (notify) => runtime.store.watchWork(notify),
    onError: (error, session = "") => process.stderr.write(`${index} ${session} ${(error as Error).stack}\n`),
  });
}

/** Begins to speak, and says no more. */
function endless(): LanguageModelV4 {
  const begin = { type: "text-start", id: "1" } as const;
  const word = { type: "text-delta", id: "1", delta: "a word " } as const;
  const stream = () =>
    new ReadableStream({ start: (controller) => [begin, word].forEach((part) => controller.enqueue(part)) });
  return { ...deltaModel(1), doStream: async () => ({ stream: stream() }) };
}

async function hold(): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await sql`SELECT pg_advisory_lock(${place}::bigint)`;
}

await (role === "lock" ? hold() : work());
process.stdout.write("ready\n");
