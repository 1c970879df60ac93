/**
 * A2: what one delta costs over real HTTP.
 *
 * Measured: CPU time of the reading process for one turn of 200,000 deltas as in A1, the model being a provider package
 * (chat completions) built with our watched fetch, which talks to a server in another process. Against: draining the
 * same package's own stream, built with the plain fetch, same server. Not measured: the server's CPU, TLS, other
 * protocols, latency, a package built without the watched fetch (it then sends a raw part beside each delta).
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { drain } from "./bare.ts";
import { cpuGauge, settle } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const deltas = 200_000;
const charsPerDelta = "word ".length;
const serverFile = fileURLToPath(new URL("./wire-server.ts", import.meta.url));

type Fetch = typeof globalThis.fetch;
type Work = (model: LanguageModelV4, onDelta: (text: string) => void) => Promise<() => Promise<void>>;

export const row: Row = {
  name: "A2",
  measure: "one delta over HTTP, CPU",
  unit: "us",
  scoreUnit: "x",
  better: "lower",
  target: 1.35,
  stretch: 1.15,
  baseline: () => served(globalThis.fetch, async (model, onDelta) => () => drain(model, onDelta)),
  ours: async (dir) => {
    const { watchedFetch } = await import("@pawl/core");
    const { watchedTurn, withRuntime } = await import("./durable.ts");
    const fetch = watchedFetch(globalThis.fetch);
    return withRuntime(dir, (runtime) => served(fetch, (model, onDelta) => watchedTurn(runtime, model, onDelta)));
  },
  score: ratio,
};

async function served(fetch: Fetch, prepare: Work): Promise<Figures> {
  const server = spawn(process.execPath, [serverFile, String(deltas)], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const { promise: listening, resolve } = Promise.withResolvers<string>();
    createInterface(server.stdout).once("line", resolve);
    const model = createOpenAICompatible({ name: "bench", baseURL: await listening, apiKey: "none", fetch })("m");
    return await timed(model, prepare);
  } finally {
    server.kill();
  }
}

async function timed(model: LanguageModelV4, prepare: Work): Promise<Figures> {
  let chars = 0;
  const work = await prepare(model, (text) => {
    chars += text.length;
  });
  settle();
  const cpu = cpuGauge();
  await work();
  const used = cpu();
  if (chars !== deltas * charsPerDelta) throw new Error(`${chars} characters came, not ${deltas * charsPerDelta}`);
  return { value: used / deltas };
}
