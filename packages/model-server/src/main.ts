#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { parseScript, type RecordedRequest, type Script, startModelServer } from "./index.ts";

/** Exit codes: 0 after a clean end, 2 for bad input. */
const BAD_INPUT = 2;

const USAGE =
  "usage: pawl-model-server --script FILE.json [--port N] [--api-key KEY] [--reasoning-content required|forbidden|accepted] " +
  "[--quiet] [--exit-with-parent]";

class InputError extends Error {}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        script: { type: "string" },
        port: { type: "string", default: "0" },
        "api-key": { type: "string" },
        "reasoning-content": { type: "string", default: "accepted" },
        quiet: { type: "boolean", default: false },
        "exit-with-parent": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new InputError(`${messageOf(error)} (${USAGE})`);
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll("\n", " ");
}

function portOf(value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new InputError(`--port: got ${JSON.stringify(value)}; allowed: 0 (a free port) to 65535`);
}

function moodOf(value: string) {
  if (value === "required" || value === "forbidden" || value === "accepted") return value;
  throw new InputError(`--reasoning-content: got ${JSON.stringify(value)}; allowed: required, forbidden, accepted`);
}

async function scriptOf(file: string | undefined): Promise<Script> {
  if (file === undefined) throw new InputError(`--script is missing (${USAGE})`);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new InputError(`--script ${file}: ${messageOf(error)}`);
  });
  try {
    return parseScript(JSON.parse(text));
  } catch (error) {
    throw new InputError(`--script ${file}: ${messageOf(error)}`);
  }
}

function logLine(request: RecordedRequest, ending: string): string {
  const violations = request.verdict.violations.map(({ rule, path }) => `${rule} at ${path || "body"}`);
  const judged = violations.length === 0 ? "" : ` violations: ${violations.join(", ")}`;
  return `#${request.order} ${request.path} ${request.status} ${ending}${judged}\n`;
}

async function start(args: readonly string[]): Promise<void> {
  const values = readArguments(args);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const apiKey = values["api-key"];
  const server = await startModelServer({
    script: await scriptOf(values.script),
    port: portOf(values.port),
    reasoningMood: moodOf(values["reasoning-content"]),
    ...(apiKey === undefined ? {} : { apiKey }),
    onEnd: (request, ending) => {
      if (!values.quiet) process.stderr.write(logLine(request, ending));
    },
  }).catch((error: unknown) => {
    throw error instanceof InputError ? error : new InputError(`cannot listen: ${messageOf(error)}`);
  });
  const stop = () => {
    process.stdin.destroy();
    void server.close();
  };
  // In place before the line below: a parent may end this process as soon as it has read it.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, stop);
  if (values["exit-with-parent"]) process.stdin.once("end", stop).once("error", stop).resume();
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
}

// A parent that died leaves a closed pipe behind: a log line that nobody can read is no reason to crash.
process.stderr.on("error", () => {});
try {
  await start(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  process.stderr.write(`pawl-model-server: ${error.message}\n`);
  process.exitCode = BAD_INPUT;
}
