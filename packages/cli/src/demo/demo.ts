/**
 * `pawl demo`, the main job: a model server in its own process, a project with a failing test, the real agent over real
 * HTTP with real tools, a connection that is reset, an agent that is killed in the middle of a command and taken over, the
 * project's test, the laws. It says only what it has looked up, and fails where something else came out.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openSession, PawlError } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { type Tone, toned, wrapped } from "../style.ts";
import { outputText } from "../words.ts";
import { publications, writeProject } from "./project.ts";
import { demoScript } from "./script.ts";

export interface DemoOptions {
  protocol: string;
  keep?: boolean;
}

const pawl = fileURLToPath(new URL("../../bin/pawl.js", import.meta.url));
const session = "demo";
const prompt = "The test of this project fails. Find out why and fix it, then publish it.";
const models = { "openai-chat": "demo", openai: "gpt-5", anthropic: "claude-demo" };

export async function runDemo({ protocol, keep }: DemoOptions): Promise<number> {
  if (!Object.hasOwn(models, protocol)) {
    const known = Object.keys(models).join(", ");
    throw new PawlError("INVALID_INPUT", `--protocol ${JSON.stringify(protocol)}: one of ${known}`);
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
    const model = `${protocol}:${models[protocol as keyof typeof models]}`;
    // The same for everybody, whatever a person has configured; and the command's own process number, to be looked up from outside.
    process.env["XDG_CONFIG_HOME"] = join(folder, "config");
    const free = ["--yes", "--sandbox", "off"];
    const place = ["--model", model, "--base-url", `${started.url}/v1`, "--store", store, ...free];

    title("A model that breaks off, a project with a failing test");
    const first = start([pawl, "run", prompt, "--session", session, "--cwd", project, ...place]);
    const killed = await killInPublish(first, project);

    title("Another process takes the turn over: pawl resume");
    const resumed = await start([pawl, "resume", session, ...place]).ended;
    const once = await ranOnce(project, store);

    title("The project's own test");
    const test = await start(["--test"], project).ended;

    title("The laws, checked on the session's log");
    const laws = await start([pawl, "verify", session, "--store", store]).ended;
    if (keep) process.stdout.write(`\nKept: ${folder}\nThe timeline: pawl show ${session} --store ${store}\n`);
    return killed && once ? ([resumed, test, laws].find((code) => code !== 0) ?? 0) : 1;
  } finally {
    server?.kill("SIGTERM");
    if (!keep) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Ends the agent as a power cut would: no signal that it could answer, in the middle of what it is doing. */
async function killInPublish(agent: Started, project: string): Promise<boolean> {
  let over = false;
  void agent.ended.then(() => {
    over = true;
  });
  while (!over && (await publications(project)).length === 0) await sleep(20);
  // Seen to run for a moment; the command itself takes longer than that.
  if (!over) await sleep(300);
  const killed = !over && agent.process.kill("SIGKILL");
  await agent.ended;
  const [publication] = await publications(project);
  // The line that said what runs was left standing.
  if (process.stdout.isTTY) process.stdout.write("\r\u001b[2K");
  if (!killed || !publication || !isAlive(publication.pid)) {
    say("bad", "✗ the agent could not be killed while node publish.js ran");
    return false;
  }
  say("bad", `✗ kill -9 ${agent.process.pid}: the agent is gone; node publish.js (${publication.pid}) is still at it`);
  return true;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Read from what the command wrote, and from the log: nothing that the agent says of itself. */
async function ranOnce(project: string, store: string): Promise<boolean> {
  const lines = await publications(project);
  const runtime = await openRuntime({ dir: store });
  try {
    const entries = await (await openSession(runtime, session)).entries();
    const entered = entries.flatMap(({ event }) => (event.type === "tool.entered" ? [event] : [])).at(-1);
    const settled = entries.flatMap(({ event }) =>
      event.type === "tool.settled" && event.call === entered?.call ? [event] : [],
    );
    const kept = settled.length === 1 && settled.some(({ output }) => /^published till/m.test(outputText(output)));
    const times = lines.length === 1 ? "once" : `${lines.length} times`;
    const good = lines.length === 1 && kept;
    process.stdout.write("\n");
    say(
      lines.length === 1 ? "good" : "bad",
      `published.log has ${lines.length} line${lines.length === 1 ? "" : "s"}, so node publish.js ran ${times}:`,
    );
    for (const { text } of lines) say("quiet", `  │ ${text}`);
    say(
      kept ? "good" : "bad",
      `The log has ${kept ? "the whole output of that run as the call's one result" : "not its output"}.`,
    );
    return good;
  } finally {
    await runtime.store.close();
  }
}

function say(tone: Tone, text: string): void {
  process.stdout.write(`${toned(tone, wrapped(text, process.stdout), process.stdout)}\n`);
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

interface Started {
  process: ChildProcess;
  /** The exit code; 1 where a signal ended it. */
  ended: Promise<number>;
}

/** Runs this Node with the demo's terminal. */
function start(args: readonly string[], cwd?: string): Started {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", process.stdout, process.stdout],
    ...(cwd === undefined ? {} : { cwd }),
  });
  child.on("error", reject).on("exit", (code) => resolve(code ?? 1));
  return { process: child, ended: promise };
}
