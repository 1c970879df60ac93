/**
 * `pawl demo`, the main job: a model server in its own process, a project with a failing test, the real agent over real
 * HTTP with real tools, a connection that is reset, the project's test, the laws.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { PawlError } from "@pawl/core";
import { toned } from "../style.ts";
import { writeProject } from "./project.ts";
import { demoScript } from "./script.ts";

export interface DemoOptions {
  protocol: string;
  keep?: boolean;
}

const pawl = fileURLToPath(new URL("../../bin/pawl.js", import.meta.url));
const session = "demo";

export async function runDemo({ protocol, keep }: DemoOptions): Promise<number> {
  if (!["openai-chat", "openai", "anthropic"].includes(protocol)) {
    throw new PawlError(
      "INVALID_INPUT",
      `--protocol ${JSON.stringify(protocol)}: one of openai-chat, openai, anthropic`,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), "pawl-demo-"));
  const project = join(folder, "project");
  const store = join(folder, "store");
  let server: ChildProcess | undefined;
  try {
    await writeProject(project);
    const script = join(folder, "script.json");
    await writeFile(script, JSON.stringify(demoScript));
    const started = await startServer(script);
    server = started.process;

    title("A model that breaks off, a project with a failing test");
    const model = protocol === "openai" ? "gpt-5" : protocol === "anthropic" ? "claude-demo" : "demo";
    const run = ["run", "The test of this project fails. Find out why and fix it.", "--model", `${protocol}:${model}`];
    const agent = await command([
      pawl,
      ...run,
      "--base-url",
      `${started.url}/v1`,
      "--cwd",
      project,
      "--store",
      store,
      "--session",
      session,
      "--yes",
    ]);

    title("The project's own test");
    const test = await command(["--test"], project);

    title("The laws, checked on the session's log");
    const laws = await command([pawl, "verify", session, "--store", store]);
    if (keep) process.stdout.write(`\nKept: ${folder}\nThe timeline: pawl show ${session} --store ${store}\n`);
    return [agent, test, laws].find((code) => code !== 0) ?? 0;
  } finally {
    server?.kill("SIGTERM");
    if (!keep) await rm(folder, { recursive: true, force: true });
  }
}

function title(text: string): void {
  process.stdout.write(`\n${toned("strong", `── ${text} ──`, process.stdout)}\n\n`);
}

async function startServer(script: string): Promise<{ process: ChildProcess; url: string }> {
  const main = fileURLToPath(import.meta.resolve("@pawl/model-server/main"));
  const child = spawn(process.execPath, [main, "--script", script, "--quiet", "--exit-with-parent"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout }))
    return { process: child, url: (JSON.parse(line) as { url: string }).url };
  throw new PawlError("BUG", "the model server ended before it listened");
}

/** Runs this Node with the demo's terminal; resolves with the exit code. */
function command(args: readonly string[], cwd?: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  spawn(process.execPath, args, {
    stdio: ["ignore", process.stdout, process.stdout],
    ...(cwd === undefined ? {} : { cwd }),
  })
    .on("error", reject)
    .on("exit", (code) => resolve(code ?? 1));
  return promise;
}
