/**
 * A small agent in a process of its own, to be killed: one session, a scripted model that calls bash, the store on disk.
 *
 * `node supervisor-host.ts <top> <trap> <command> [timeoutMs] [host] [place]`. With `host` it is a machine of that name, whose commands leave
 * their records in a folder of its own. Traps: `none`; `asked`: nobody answers whether it may run; `entered`: the body does nothing but say so; `paused`: first
 * a trivial command, then it waits for the file `go`; `quit`: exits in an orderly way when the command has made `ready`; `open`: the turn does not end after the call.
 */
import { existsSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolSet } from "@pawl/core";
import { createSession } from "@pawl/core";
import { call, finish, type ScriptEntry, say, scriptedModel } from "@pawl/core/testing";
import { workspaceTools } from "../src/tools/workspace-tools.ts";
import { commandsOf, openRuntimeOn } from "./supervisor-machine.ts";

const [top = "", trap = "", command = "", timeoutMs = "60000", on, place] = process.argv.slice(2);
const work = join(top, "work");
const store = place ?? join(top, "store");

async function file(name: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(work, () => existsSync(join(work, name)) && resolve());
  if (existsSync(join(work, name))) resolve();
  await promise;
  watcher.close();
}

function tools(): ToolSet {
  const set = workspaceTools({ cwd: work, spillDir: join(top, "spill"), commandDir: commandsOf(top, on) });
  if (trap !== "entered") return set;
  const execute = () => {
    writeFileSync(join(work, "entered"), "");
    return new Promise(() => undefined);
  };
  return { ...set, bash: { ...set["bash"], execute } as never };
}

const wanted: ScriptEntry = [...call("bash", { command, timeoutMs: Number(timeoutMs) }), finish("tool-calls")];
const first: ScriptEntry = [...call("bash", { command: "touch first" }, "first"), finish("tool-calls")];
const paused: ScriptEntry[] = trap === "paused" ? [first, [{ until: file("go") }, ...wanted]] : [wanted];
const last: ScriptEntry = trap === "open" ? [{ silence: true }] : [...say("done"), finish()];
const model = scriptedModel([...paused, last]);

const runtime = await openRuntimeOn(store, on);
const session = await createSession(runtime, "s");
if (trap === "quit") void file("ready").then(() => process.exit(0));
const approver = () => {
  writeFileSync(join(work, "asked"), "");
  return new Promise<never>(() => undefined);
};
const permission = () => (trap === "asked" ? "ask" : "allow");
await session.run({ model, tools: tools(), permission, approver }, "go").result;
await runtime.store.close();
