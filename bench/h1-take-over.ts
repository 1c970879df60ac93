/**
 * H1: how long an open turn is nobody's when its worker is killed.
 *
 * Measured: from the SIGKILL of a worker process with four open turns, whose models are speaking, to the first record of
 * another worker, on PostgreSQL, in each of the four sessions; the moments are those of the machine's clock. Each worker counts
 * as a machine of its own: nobody can look whether its process lives. Against: from the same kill of a process that holds an
 * advisory lock to the moment at which another connection has it, which is as early as the server knows. The score is the
 * time: a person waits for it. Not measured: a worker that is paused (its lease has to run out), a whole machine that is gone
 * (the server's TCP keepalive), places that are all taken.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Runtime } from "@pawl/core";
import type { Figures, Row } from "./row.ts";

const kills = 6;
const sessions = 4;
/** Of the poll, so that a kill meets it anywhere. */
const spreadMs = 200;
const script = fileURLToPath(new URL("./postgres-worker.ts", import.meta.url));

export const row: Row = {
  ...{
    name: "H1",
    measure: "PostgreSQL, take-over from a killed worker",
    unit: "ms",
    scoreUnit: " ms",
    better: "lower",
  },
  ...{ target: 200, stretch: 100, fixture: "postgres" },
  baseline: async (_, url) => {
    const times: number[] = [];
    for (let nth = 1; nth <= kills; nth += 1) times.push(await lockPasses(url, nth));
    return figuresOf(times);
  },
  ours: async (dir, url) => {
    const { postgresRuntime, schemaOf } = await import("./postgres.ts");
    const schema = schemaOf(dir);
    const runtime = await postgresRuntime(url, schema);
    const workers = [await started(["worker", url, schema, "0"])];
    try {
      const times: number[] = [];
      for (let nth = 0; nth < kills; nth += 1) {
        const ids = Array.from({ length: sessions }, (_, n) => `s${nth}-${n}`);
        await speaking(runtime, ids);
        workers.push(await started(["worker", url, schema, String(nth + 1)]));
        await sleep(spreadMs * (nth / kills));
        times.push(...(await takenOver(runtime, ids, workers[nth])));
      }
      return figuresOf(times);
    } finally {
      for (const worker of workers) worker.kill("SIGKILL");
      await runtime.store.close();
    }
  },
  score: (_, ours) => ours.value,
  also: (_, ours) => `longest ${(ours["most"] ?? 0).toFixed(0)} ms`,
};

async function started(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.stdout) await once(child.stdout, "data");
  return child;
}

async function lockPasses(url: string, number: number): Promise<number> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(url, { max: 1 });
  const holder = await started(["lock", url, String(number)]);
  await sql`SELECT 1`;
  const passed = sql`SELECT pg_advisory_lock(${number}::bigint)`.then(() => performance.now());
  await sleep(spreadMs / 4);
  const killedAt = performance.now();
  holder.kill("SIGKILL");
  const time = (await passed) - killedAt;
  await sql.end();
  return time;
}

/** Resolves when each has begun a turn and said something. */
async function speaking({ store }: Runtime, ids: readonly string[]): Promise<void> {
  const { createSession } = await import("@pawl/core");
  const { nodeEffects, thisHolder } = await import("@pawl/core/node");
  for (const id of ids) {
    const session = await createSession({ store, effects: nodeEffects(), holder: thisHolder() }, id);
    await session.post("input", "speak");
  }
  for (const id of ids) while (!(await store.readPartial(id))) await sleep(20);
}

async function takenOver({ store }: Runtime, ids: readonly string[], worker?: ChildProcess): Promise<number[]> {
  const before = await Promise.all(ids.map((id) => store.get(id)));
  const killedAt = Date.now();
  worker?.kill("SIGKILL");
  return Promise.all(
    ids.map(async (id, at) => {
      for (;;) {
        const [record] = await store.read(id, { after: before[at]?.seq ?? 0, limit: 1 });
        if (record) return record.time - killedAt;
        await sleep(20);
      }
    }),
  );
}

function figuresOf(times: number[]): Figures {
  const sorted = times.sort((a, b) => a - b);
  return { value: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN };
}
