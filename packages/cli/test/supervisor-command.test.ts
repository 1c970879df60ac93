/** The supervisor, its files and whoever asks about them, without a session around. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Reconciled } from "@pawl/core";
import { CommandArchive, sweep } from "../src/tools/command-archive.ts";
import { commandEnvironment } from "../src/tools/command-env.ts";
import { CommandFolder } from "../src/tools/command-folder.ts";
import { CommandOutput } from "../src/tools/command-output.ts";
import { commandFate } from "../src/tools/command-recovery.ts";
import { OutputFile } from "../src/tools/output-file.ts";
import { OutputReader } from "../src/tools/output-reader.ts";
import { endRunningCommands } from "../src/tools/supervisor-link.ts";
import { workspaceTools } from "../src/tools/workspace-tools.ts";
import { appears, CrashWorld, gone, isAlive, waiting } from "./supervisor-world.ts";

interface Bash {
  execute(input: unknown, context: unknown): Promise<{ content: { text: string }[]; isError: boolean }>;
  reconcile?(call: unknown): Promise<Reconciled>;
}

function bashOf(world: CrashWorld): Bash {
  return world.tools()["bash"] as unknown as Bash;
}

function run(bash: Bash, key: string, command: string, signal = new AbortController().signal): Promise<string> {
  const context = { signal, callId: key, idempotencyKey: key, progress: () => undefined };
  return bash.execute({ command }, context).then(({ content }) => content.map(({ text }) => text).join(""));
}

function reconcile(bash: Bash, key: string, enteredAt = Date.now()): Promise<Reconciled> | undefined {
  return bash.reconcile?.({
    callId: key,
    idempotencyKey: key,
    input: { command: "" },
    enteredAt,
    signal: new AbortController().signal,
  });
}

const not = { verdict: "not-done" };

test("a settled call starts nothing, wherever its order waits: the claim decides", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  await run(bash, "first", "true");
  process.kill(world.supervisor, "SIGSTOP");
  const { supervisor } = world;
  t.after(() => isAlive(supervisor) && process.kill(supervisor, "SIGCONT"));
  const late = assert.rejects(run(bash, "late", waiting), /somebody who took it for dead has settled this call/);
  await appears(world.commandDir, "late");
  const two = await Promise.all([reconcile(bashOf(world), "late"), reconcile(bashOf(world), "late")]);
  assert.deepEqual(two, [not, not]);
  process.kill(supervisor, "SIGCONT");
  await late;
  assert.equal(world.ran, 0);
});

test("a key is run once, also when the same process asks again", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  await run(bash, "key", "echo ran >> count");
  await assert.rejects(run(bash, "key", "echo ran >> count"), /nothing was run/);
  assert.equal(world.ran, 1);
});

test("two that ask while it runs get the same result", async (t) => {
  const world = new CrashWorld(t);
  const live = run(bashOf(world), "key", waiting);
  await world.made("ready");
  const asked = [reconcile(bashOf(world), "key"), reconcile(bashOf(world), "key")];
  world.letGoOn("word");
  const text = await live;
  const output = { content: [{ type: "text", text }], isError: false };
  assert.equal(text, "before\nafter word\n[exit code 0]");
  assert.deepEqual(await Promise.all(asked), [
    { verdict: "done", output },
    { verdict: "done", output },
  ]);
});

test("an end before the beginning is not done, and nothing ran", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  await run(bash, "first", "true");
  const { supervisor } = world;
  process.kill(supervisor, "SIGSTOP");
  const controller = new AbortController();
  const call = assert.rejects(run(bash, "key", waiting, controller.signal), /abort/);
  await appears(world.commandDir, "key");
  await appears(join(world.commandDir, "key"), "request.json");
  setImmediate(() => {
    controller.abort();
    process.kill(supervisor, "SIGCONT");
  });
  await call;
  if (world.ran === 0) assert.deepEqual(await reconcile(bash, "key"), not);
});

test("the supervisor dies under a living runtime: the call says so, nothing runs on, the next command works", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  const call = assert.rejects(run(bash, "key", `echo $$ > shell; ${waiting}`), /was killed while the command ran/);
  await world.made("ready");
  await appears(world.lastCall, "group");
  process.kill(world.supervisor, "SIGKILL");
  await call;
  assert.equal(isAlive(Number(world.content("shell"))), false);
  assert.equal(await run(bash, "next", "echo next"), "next\n[exit code 0]");
});

test("R65: endRunningCommands ends what runs and what was left in the background, at once; the next command works", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  await run(bash, "one", "sleep 600 >&- 2>&- & echo $! > background");
  const call = run(bash, "two", `echo $$ > shell; ${waiting}`);
  await world.made("ready");
  const { supervisor } = world;
  endRunningCommands();
  for (const name of ["background", "shell"]) assert.equal(isAlive(Number(world.content(name))), false, name);
  assert.equal(isAlive(supervisor), false);
  assert.match(await call, /\[it was ended because the agent was told to quit/);
  assert.equal(await run(bash, "next", "echo next"), "next\n[exit code 0]");
});

test("a reused process number does not look like the supervisor", async (t) => {
  const world = new CrashWorld(t);
  const folder = await new CommandArchive(world.commandDir).open("key");
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const process_ = { id: "x", host: hostname(), boot, pid: process.pid, start: "1" };
  writeFileSync(join(folder.path, "claim"), JSON.stringify({ by: "supervisor", process: process_, mark: "none" }));
  assert.deepEqual(await commandFate(folder, 60_000), { verdict: "unknown" });
});

test("a claim that was cut off by a death is no proof of anything", async (t) => {
  const world = new CrashWorld(t);
  const folder = await new CommandArchive(world.commandDir).open("key");
  writeFileSync(join(folder.path, "claim"), "");
  assert.deepEqual(await commandFate(folder, 60_000), { verdict: "unknown" });
});

test("a missing folder is a proof only for an archive that is older than the call", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  assert.deepEqual(await reconcile(bash, "before", 1_000), { verdict: "unknown" });
  assert.deepEqual(await reconcile(bash, "after"), not);
});

test("without a folder of the host there is nothing to ask: the runtime says unknown", (t) => {
  const world = new CrashWorld(t);
  assert.equal((workspaceTools({ cwd: world.work })["bash"] as unknown as Bash).reconcile, undefined);
});

test("old folders go, and the mark says from when on none is missing", async (t) => {
  const world = new CrashWorld(t);
  mkdirSync(world.commandDir, { recursive: true });
  writeFileSync(join(world.commandDir, "since-1000"), "");
  const bash = bashOf(world);
  const now = Date.now();
  await run(bash, "old", "echo old");
  await run(bash, "middle", "echo middle");
  await run(bash, "new", "echo new");
  age(world, "old", now - 8 * 24 * 60 * 60_000);
  age(world, "middle", now - 2 * 24 * 60 * 60_000);
  await sweep(world.commandDir, now);
  assert.deepEqual(world.calls.map((path) => path.slice(world.commandDir.length + 1)).sort(), ["middle", "new"]);
  assert.equal(existsSync(join(world.commandDir, "middle", "output")), false);
  assert.equal(existsSync(join(world.commandDir, "new", "output")), true);
  assert.equal(readdirSync(world.commandDir).filter((name) => name.startsWith("since-")).length, 1);
  assert.deepEqual(await reconcile(bash, "old", now - 8 * 24 * 60 * 60_000), { verdict: "unknown" });
  const { verdict } = (await reconcile(bash, "middle")) ?? {};
  assert.equal(verdict, "done");
});

test("there are never more folders than the bound, however young the archive", async (t) => {
  const world = new CrashWorld(t);
  const now = Date.now();
  for (let index = 0; index < 520; index++) {
    mkdirSync(join(world.commandDir, `c${index}`), { recursive: true });
    writeFileSync(join(world.commandDir, `c${index}`, "request.json"), "{}");
    age(world, `c${index}`, now - 2 * 60 * 60_000 - index * 1_000);
  }
  await sweep(world.commandDir, now);
  assert.equal(world.calls.length, 500);
});

test("the output of a result that is surely recorded goes at the next calls, its record stays", async (t) => {
  const world = new CrashWorld(t);
  const bash = bashOf(world);
  for (const key of ["one", "two", "three"]) await run(bash, key, `echo ${key}`);
  const outputs = ["one", "two", "three"].map((key) => existsSync(join(world.commandDir, key, "output")));
  assert.deepEqual(outputs, [false, false, true]);
  const late = await reconcile(bash, "one");
  assert.ok(late?.verdict === "done" && typeof late.output === "object");
  const [part] = late.output.content;
  assert.match(
    part?.type === "text" ? part.text : "",
    /could not be kept: its file has been removed.*\[exit code 0\]$/s,
  );
});

test("an output beyond the cap keeps its start and its end, live and from the file", async (t) => {
  const world = new CrashWorld(t);
  const path = join(world.top, "output");
  const file = new OutputFile(path, 1_000);
  for (let line = 0; line < 100_000; line++) file.write(Buffer.from(`${line}\n`));
  file.close();
  assert.equal(statSync(path).size, file.size.head + file.size.tail);
  assert.ok(statSync(path).size < 82_000);
  const output = new CommandOutput(() => undefined);
  assert.equal(await new OutputReader(path, output).finish(file.size), undefined);
  const text = await output.finish(async () => "somewhere");
  assert.match(text, /^0\n1\n.*\[… \d+ characters left out; somewhere …\]\n.*\n99999\n$/s);
  const left = Number(/(\d+) characters left out/.exec(text)?.[1]);
  assert.equal(left, file.size.bytes - 1_000 - 20_000);
});

test("an output that grows while its first bytes are read is read in large pieces", async (t) => {
  const world = new CrashWorld(t);
  const path = join(world.top, "output");
  writeFileSync(path, "x".repeat(1_000_000));
  const output = new CommandOutput(() => undefined);
  const pieces: number[] = [];
  output.push = (chunk) => void pieces.push(chunk.length);
  const reader = new OutputReader(path, output);
  reader.grown(1);
  reader.grown(1_000_000);
  await reader.finish({ bytes: 1_000_000, head: 1_000_000, tail: 0 });
  assert.ok(pieces.length < 10, `${pieces.length} pieces`);
});

test("a disk that is full keeps neither the command from its end nor the end from being told", async (t) => {
  const world = new CrashWorld(t);
  const tools = JSON.stringify(new URL("../src/tools/workspace-tools.ts", import.meta.url).href);
  const script = `
    import { workspaceTools } from ${tools};
    const { bash } = workspaceTools({ cwd: process.argv[2], commandDir: process.argv[3] });
    const context = { signal: new AbortController().signal, idempotencyKey: "k", progress() {} };
    const { content } = await bash.execute({ command: "seq 1 60000; echo last" }, context);
    process.stdout.write(content[0].text);`;
  const host = join(world.top, "host.mjs");
  writeFileSync(host, script);
  // A bound on the size of files (in blocks of 512 or 1024 bytes), which the supervisor inherits.
  const limited = 'ulimit -f 100; exec "$0" "$@"';
  const text = execFileSync("/bin/sh", ["-c", limited, process.execPath, host, world.work, world.commandDir], {
    encoding: "utf8",
  });
  assert.match(text, /^1\n2\n.*the whole output could not be kept: EFBIG.*\n60000\nlast\n\[exit code 0\]$/s);
});

test("an idle supervisor neither keeps the runtime alive nor outlives it", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", "true");
  await once(host, "exit");
  await gone(world.supervisor);
});

test("a supervisor outlives the sudden death of its runtime only until its command has ended", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", waiting);
  await world.made("ready");
  const { supervisor } = world;
  host.kill("SIGKILL");
  await once(host, "exit");
  assert.equal(isAlive(supervisor), true);
  world.letGoOn("word");
  await appears(world.lastCall, "exit.json");
  await gone(supervisor);
});

test("commands do not get what looks like a key, unless a person names it", () => {
  const env = {
    PATH: "/bin",
    HOME: "/home/a",
    OPENAI_API_KEY: "1",
    GITHUB_TOKEN: "2",
    AWS_SECRET_ACCESS_KEY: "3",
    aws_session_token: "4",
    NODE_TEST_CONTEXT: "child",
    PGPASSWORD: "5",
    TOKENIZERS_PARALLELISM: "6",
    KEYBOARD: "7",
  };
  assert.deepEqual(Object.keys(commandEnvironment(env)), [
    "PATH",
    "HOME",
    "PGPASSWORD",
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
  ]);
  assert.equal(commandEnvironment({ ...env, PAWL_ALLOW_ENV: "X, GITHUB_TOKEN" })["GITHUB_TOKEN"], "2");
  assert.equal(commandEnvironment(env, ["OPENAI_API_KEY"])["OPENAI_API_KEY"], "1");
});

test("nothing secret is written down: the folder of a call has its command, not its environment", async (t) => {
  const world = new CrashWorld(t);
  await run(bashOf(world), "key", "true");
  const folder = new CommandFolder(join(world.commandDir, "key"));
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(folder.request, "utf8")) as object).sort(), [
    "command",
    "cwd",
    "runtime",
    "timeoutMs",
  ]);
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
});

function age(world: CrashWorld, key: string, at: number): void {
  utimesSync(join(world.commandDir, key, "request.json"), at / 1_000, at / 1_000);
}
