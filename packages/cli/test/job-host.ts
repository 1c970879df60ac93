/**
 * A process that starts a job: `node job-host.ts TOP MANNER COMMAND`. Manners: `leave`: it ends by itself then; `stay`: it waits to be
 * killed; `orphan`: as `stay`, and the job may outlive it by a millisecond.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { supervised } from "../src/tools/supervisor-link.ts";
import { workspaceTools } from "../src/tools/workspace-tools.ts";

const [top = "", manner = "", command = ""] = process.argv.slice(2);
const cwd = join(top, "work");
const commandDir = join(top, "commands");
const { signal } = new AbortController();

if (manner === "orphan") {
  const folder = join(commandDir, "call-1");
  mkdirSync(folder, { recursive: true });
  const order = { folder, command, cwd, env: process.env, timeoutMs: 600_000, outputBytes: 1_000, orphanMs: 1 };
  const watch = { signal, onGrown: () => undefined, onStarted: () => console.log("started"), background: true };
  void supervised(order, watch);
} else {
  const tools = workspaceTools({ cwd, commandDir, env: process.env });
  const context = { signal, idempotencyKey: "call-1", callId: "call-1", progress: () => undefined };
  console.log(await tools["bash"]?.execute?.({ command, background: true } as never, context as never));
}
if (manner !== "leave") process.stdin.resume();
