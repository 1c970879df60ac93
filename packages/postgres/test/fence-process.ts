/**
 * A worker process that is paused while it drives, or (`finish`) the one that takes over: `URL SCHEMA MACHINE EFFECTS MODE`. What a
 * session does hangs on its id: `body` runs a tool that waits for its signal, `model` a request that does, `call` waits for a
 * line on its input before its model calls a tool with an effect. It says what has begun and what was stopped.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, createWorker, defineTool } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { postgresStore } from "../src/index.ts";

const [url = "", schema = "", machine = "", effectsFile = "", mode = ""] = process.argv.slice(2);
const finishes = mode === "finish";
const told = new Promise<void>((resolve) => createInterface({ input: process.stdin }).once("line", () => resolve()));

function tell(what: string): void {
  process.stdout.write(`${what}\n`);
}

function stopped(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}

function agentOf(session: string): Agent {
  const act = defineTool({
    inputSchema: { type: "object" as const },
    execute: async (_, { signal }) => {
      appendFileSync(effectsFile, `${session} ${machine}\n`);
      tell(`begun ${session}`);
      if (session === "body" && !finishes) {
        await stopped(signal);
        tell(`stopped ${session}`);
      }
      return "acted";
    },
  });
  const model: LanguageModelV4 = {
    ...scriptedModel([]),
    doStream: async (options) => {
      const hasResult = options.prompt.some(({ role }) => role === "tool");
      if (session === "model" && !finishes) {
        tell(`begun ${session}`);
        await stopped(options.abortSignal);
        tell(`stopped ${session}`);
        throw options.abortSignal?.reason;
      }
      if (session === "call" && !finishes) {
        tell(`begun ${session}`);
        await told;
        tell(`called ${session}`);
      }
      const wants = session !== "model" && !hasResult;
      const parts = wants ? [...call("act", {}, "call_1"), finish("tool-calls")] : [...say("done"), finish()];
      return scriptedModel([parts]).doStream(options);
    },
  };
  return { model, tools: { act } };
}

const store = await postgresStore({ url, schema, connections: 4 });
const runtime = { store, effects: nodeEffects(), holder: { ...thisHolder(), host: machine } };
const worker = createWorker({
  runtime,
  agent: (session) => agentOf(session.id),
  wake: (notify) => store.watchWork(notify),
});
process.once("SIGTERM", () => {
  void worker.drain().then(async () => {
    await store.close();
    process.exit(0);
  });
});
