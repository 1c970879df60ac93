/**
 * `node bench/follow-latency.ts [STEPS]`: how late a second process sees what a first one records and says, on one SQLite folder.
 * The rows H2 and H2W measure the same on PostgreSQL.
 *
 * Measured: from the moment the driver's own subscriber hears of a fact, and from the moment the model gives a word, to the
 * moment the other process's `session.watch` gives it. Both clocks are the machine's. No baseline and no limit: the figures are
 * made of intervals (the journal's 250 ms, the watcher's 100 ms, the store's 50 ms), not of work.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { createSession, openSession, type Runtime } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";

const session = "followed";
const wordsPerStep = 24;
const wordMs = 37;
const moment = (): number => performance.timeOrigin + performance.now();

/** Says when it says it: each word is the moment at which it was given. */
function speaking(steps: number): LanguageModelV4 {
  let step = 0;
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    step += 1;
    yield { type: "text-start", id: "1" };
    for (let n = 0; n < wordsPerStep; n += 1) {
      await sleep(wordMs);
      yield { type: "text-delta", id: "1", delta: `${moment()} ` };
    }
    yield { type: "text-end", id: "1" };
    const last = step === steps;
    if (!last) yield { type: "tool-call", toolCallId: `c${step}`, toolName: "look", input: "{}" };
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    };
    const reason = last ? ("stop" as const) : ("tool-calls" as const);
    yield { type: "finish", usage, finishReason: { unified: reason, raw: reason } };
  }
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "speaking",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("it only streams")),
    doStream: async () => {
      const said = parts();
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async pull(controller) {
          const { done, value } = await said.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      });
      return { stream };
    },
  };
}

/** A folder, or a PostgreSQL: its URL, a space, a schema. */
async function openPlace(place: string): Promise<Runtime> {
  const [url = "", schema = ""] = place.split(" ");
  if (!place.startsWith("postgres:")) return openRuntime({ dir: place });
  return (await import("./postgres.ts")).postgresRuntime(url, schema);
}

/** The first process: drives, and prints when each fact was told. */
async function drive(place: string, steps: number): Promise<void> {
  const runtime = await openPlace(place);
  const look = { inputSchema: { type: "object" as const }, execute: () => sleep(wordMs).then(() => "seen") };
  const turn = (await openSession(runtime, session)).run({ model: speaking(steps), tools: { look } }, "speak");
  const told: [number, number][] = [];
  for await (const item of turn) if (item.type === "entry") told.push([item.entry.seq, moment()]);
  await turn.result;
  process.stdout.write(JSON.stringify(told));
  await runtime.store.close();
}

export interface Lateness {
  /** Ms, ascending. */
  facts: number[];
  words: number[];
}

/** The second: watches, and knows how late it was. */
export async function lateness(place: string, steps: number): Promise<Lateness> {
  const runtime = await openPlace(place);
  try {
    const watched = await createSession(runtime, session);
    const driver = spawn(process.execPath, [fileURLToPath(import.meta.url), "drive", place, String(steps)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    driver.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    const closed = once(driver, "close");
    const facts = new Map<number, number>();
    const words: number[] = [];
    const end = new AbortController();
    driver.once("exit", (code) => code !== 0 && end.abort());
    for await (const item of watched.watch({ after: 1, signal: end.signal })) {
      const now = moment();
      if (item.type === "entry") facts.set(item.entry.seq, now);
      if (item.type === "part.delta" && item.kind === "text")
        for (const said of item.text.trim().split(" ")) words.push(now - Number(said));
      if (item.type === "entry" && item.entry.event.type === "turn.ended") break;
    }
    await closed;
    const told = JSON.parse(output) as [number, number][];
    const late = told.map(([seq, at]) => (facts.get(seq) ?? Number.NaN) - at);
    return { facts: late.sort((a, b) => a - b), words: words.sort((a, b) => a - b) };
  } finally {
    await runtime.store.close();
  }
}

export function shareOf(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

async function print(steps: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "pawl-follow-"));
  try {
    for (const [what, late] of Object.entries(await lateness(dir, steps))) {
      const at = (share: number): string => `${shareOf(late, share).toFixed(0)} ms`;
      process.stdout.write(`${what}: ${late.length}, late by median ${at(0.5)}, 95 % ${at(0.95)}, max ${at(1)}\n`);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [role = "10", place = "", steps = "10"] = process.argv.slice(2);
  if (role === "drive") await drive(place, Number(steps));
  else await print(Number(role));
}
