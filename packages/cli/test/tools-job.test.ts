import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SecretMask } from "../src/tools/secret-mask.ts";
import { Running } from "./pawl-world.ts";
import { appears, gone, isAlive } from "./supervisor-world.ts";
import { Folder } from "./tools-call.ts";

async function started(folder: Folder, command: string, key?: string): Promise<string> {
  const input = { command, background: true };
  const text = await folder.call("bash", input, key === undefined ? {} : { key });
  const id = /^(job-[0-9a-f]{8}) was started in the background/.exec(text)?.[1];
  assert.ok(id !== undefined, text);
  return id;
}

/** A workspace beside which the archive of commands lies, and a process that starts a job in it. */
function host(t: TestContext, folder: Folder, manner: string, command: string): { child: ChildProcess; said: Running } {
  const script = fileURLToPath(new URL("./job-host.ts", import.meta.url));
  const top = join(folder.root, "..");
  const child = spawn(process.execPath, [script, top, manner, command], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  return { child, said: new Running(child) };
}

function pipe(folder: Folder): (words: string) => void {
  execFileSync("mkfifo", [join(folder.root, "pipe")]);
  return (words) => writeFileSync(join(folder.root, "pipe"), words);
}

test("a job goes on while others run; its output comes in pieces, then its end", async (t) => {
  const folder = new Folder(t);
  const write = pipe(folder);
  const id = await started(folder, "echo first; cat < pipe; echo last; exit 3");
  const look = (input: object) => folder.call("job_output", { id, ...input });
  assert.match(await look({ waitMs: 60_000, until: "output" }), /^first\n\[job-\w+ is running for \d+ s\]$/);
  assert.match(await look({}), /^\[job-\w+ is running for \d+ s; no new output\]$/);
  assert.equal(await folder.call("bash", { command: "echo meanwhile" }), "meanwhile\n[exit code 0]");
  assert.match(await folder.call("job_output", {}), new RegExp(`^${id}  running for \\d+ s  echo first; cat`));
  write("middle\n");
  assert.equal(await look({ waitMs: 60_000 }), `middle\nlast\n[${id} has ended]\n[exit code 3]`);
  assert.equal(await look({}), `[${id} has ended]\n[exit code 3]`);
  assert.match(await folder.call("job_output", {}), new RegExp(`^${id}  exit code 3  echo first`));
});

test("a character whose bytes come in two looks is whole", async (t) => {
  const folder = new Folder(t);
  const write = pipe(folder);
  const id = await started(folder, String.raw`printf 'a\xf0\x9f'; cat < pipe; printf '\x98\x80'`);
  const first = await folder.call("job_output", { id, waitMs: 60_000, until: "output" });
  assert.match(first, /^a\n\[job/);
  write("");
  assert.match(await folder.call("job_output", { id, waitMs: 60_000 }), /^😀\n\[job/);
});

test("a secret whose pieces come in two looks, or lie where a long output is cut, is told in neither", async (t) => {
  const value = "sk-§-0123456789abcdef";
  const folder = new Folder(t, {}, { mask: new SecretMask([{ name: "KEY", value }]) });
  const write = pipe(folder);
  const id = await started(folder, "printf 'key: sk-§-01234'; cat < pipe");
  assert.match(await folder.call("job_output", { id, waitMs: 60_000, until: "output" }), /^key:\n\[job/);
  write("56789abcdef and sk-");
  assert.match(await folder.call("job_output", { id, waitMs: 60_000 }), /^\[KEY\] and sk-\n\[job/);
  const long = await started(folder, `for n in $(seq 9000); do printf ${value}; done`);
  const told = await folder.call("job_output", { id: long, waitMs: 60_000 });
  assert.ok(/characters left out/.test(told), "it is cut");
  assert.equal(/sk-|abcdef|§/.exec(told.replace(/ in \S+\.txt/, "")), null);
});

test("waiting for output is not ended by what cannot be told yet", async (t) => {
  const folder = new Folder(t, {}, { mask: new SecretMask([{ name: "KEY", value: "sk-0123456789abcdef" }]) });
  const write = pipe(folder);
  const id = await started(folder, "printf sk-01234; touch ready; cat < pipe");
  await appears(folder.root, "ready");
  const look = folder.call("job_output", { id, waitMs: 60_000, until: "output" });
  write("56789abcdef.\n");
  assert.match(await look, /^\[KEY\]\.\n\[job/);
});

test("job_kill ends it with all that it started, and gives the rest of what it said", async (t) => {
  const folder = new Folder(t);
  const id = await started(folder, "sleep 600 & echo $! > child; echo said; touch ready; wait");
  await appears(folder.root, "ready");
  const child = Number(folder.content("child"));
  const text = await folder.call("job_kill", { id });
  assert.match(
    text,
    new RegExp(`^said\\n\\[${id} has ended\\]\\n\\[ended by SIGTERM\\]\\n\\[it was ended by job_kill`),
  );
  assert.equal(isAlive(child), false);
  assert.match(await folder.call("job_kill", { id }), /has ended/);
});

test("an abort ends the waiting, not the job", async (t) => {
  const folder = new Folder(t);
  const id = await started(folder, "sleep 600");
  const controller = new AbortController();
  const waiting = folder.call("job_output", { id, waitMs: 500_000 }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  assert.match(await folder.call("job_output", { id }), /is running/);
  await folder.call("job_kill", { id });
});

test("the ninth job is refused by name of the others; a long output is cut and kept as a file", async (t) => {
  const folder = new Folder(t);
  const ids = await Promise.all(Array.from({ length: 8 }, () => started(folder, "sleep 600")));
  await assert.rejects(started(folder, "sleep 600"), new RegExp(`8 jobs are running.*${ids[7]}`));
  await Promise.all(ids.map((id) => folder.call("job_kill", { id })));
  const id = await started(folder, "yes 0123456789 | head -c 40000000; echo the end");
  const text = await folder.call("job_output", { id, waitMs: 60_000 });
  assert.ok(text.length < 31_000);
  const path = /characters left out; what it says is in (\S+) /.exec(text)?.[1] ?? "";
  assert.match(text, /the end\n\[job-\w+ has ended\]\n\[exit code 0\]$/);
  assert.ok(readFileSync(path).length < 33_000_000);
});

test("a secret is masked also where a job's long output is cut in the middle of it", async (t) => {
  const value = "sk-0123456789abcdefghij";
  const folder = new Folder(t, {}, { mask: new SecretMask([{ name: "KEY", value }]) });
  for (const lead of [0, 7, 14]) {
    const half = `$(printf sk-0123456789; printf abcdefghij)`;
    const command = `s=${half}; printf '%0${lead}d' 0; for i in $(seq 9000); do printf %s "$s"; done`;
    const id = await started(folder, command, `cut-${lead}`);
    const text = await folder.call("job_output", { id, waitMs: 60_000 });
    assert.match(text, /characters left out/);
    assert.doesNotMatch(text, /abcdefghij|sk-01/);
  }
});

test("an id that is none names those that there are; an empty list says so", async (t) => {
  const folder = new Folder(t);
  assert.equal(await folder.call("job_output", {}), "There are no jobs.");
  await assert.rejects(folder.call("job_output", { id: "job-00000000" }), /no job "job-00000000"\. There are none/);
  const id = await started(folder, "true");
  await assert.rejects(folder.call("job_kill", { id: "../x" }), new RegExp(`no job "\\.\\./x"\\. Jobs: ${id}`));
});

test("looks and ends hold no lock, and need not wait for one", async (t) => {
  const folder = new Folder(t);
  assert.deepEqual(await folder.locks("job_output", {}), []);
  assert.deepEqual(await folder.locks("job_kill", { id: "job-1" }), []);
});

test("a process that ends in order ends its jobs, and is not held up by them", async (t) => {
  const folder = new Folder(t);
  const { said } = host(t, folder, "leave", "echo $$ > pid; exec sleep 600");
  const { code, stdout } = await said.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^job-/);
  if (existsSync(join(folder.root, "pid"))) await gone(Number(folder.content("pid")));
  const later = again(t, folder);
  const id = stdout.split(" ")[0];
  assert.match(
    await later.call("job_output", { id }),
    /has ended\]\n.*\n\[it was ended because the agent was told to quit/,
  );
});

test("after a sudden death the job goes on, and another process sees what it says, and its true end", async (t) => {
  const folder = new Folder(t);
  const write = pipe(folder);
  const { child, said } = host(t, folder, "stay", "echo before; cat < pipe; exit 4");
  await said.linesSeen(1);
  await killed(child);
  const later = again(t, folder);
  const id = said.lines[0]?.split(" ")[0];
  assert.match(await later.call("job_output", {}), new RegExp(`^${id}  running`));
  const first = await later.call("job_output", { id, waitMs: 60_000, until: "output" });
  assert.match(first, /^before\n\[job-\w+ is running/);
  write("after\n");
  assert.match(
    await later.call("job_output", { id, waitMs: 60_000 }),
    /^after\n\[job-\w+ has ended\]\n\[exit code 4\]$/,
  );
  const { verdict, output } = {
    output: "",
    ...(await later.reconcile("bash", { command: "x", background: true }, "call-1")),
  };
  assert.equal(verdict, "done");
  assert.match(String(output), new RegExp(`^${id} was started in the background`));
  const never = await later.reconcile("bash", { command: "x", background: true }, "call-2");
  assert.equal(never.verdict, "unknown", "an archive younger than the call proves nothing");
});

const blind = process.platform === "linux" ? false : "no start times here: whether a process lives cannot be told";

test("a job of a process that lives is listed to no other", { skip: blind }, async (t) => {
  const folder = new Folder(t);
  const { child, said } = host(t, folder, "stay", "exec sleep 600");
  await said.linesSeen(1);
  const later = again(t, folder);
  assert.equal(await later.call("job_output", {}), "There are no jobs.");
  await killed(child);
  assert.match(await later.call("job_output", {}), /^job-\w+ {2}running/);
  await later.call("job_kill", { id: said.lines[0]?.split(" ")[0] });
});

test("a job of another machine, in a folder that both share, is neither listed, looked at nor ended here", async (t) => {
  const folder = new Folder(t);
  const { child, said } = host(t, folder, "stay", "echo $$ > pid; exec sleep 600");
  await said.linesSeen(1);
  await appears(folder.root, "pid");
  await killed(child);
  const later = again(t, folder);
  const id = said.lines[0]?.split(" ")[0];
  const file = join(folder.root, "..", "commands", "call-1", "request.json");
  const whole = readFileSync(file, "utf8");
  const request = JSON.parse(whole) as { job: { by: { host: string } } };
  request.job.by.host = "far-away";
  writeFileSync(file, JSON.stringify(request));
  assert.equal(await later.call("job_output", {}), "There are no jobs.");
  for (const tool of ["job_output", "job_kill"])
    await assert.rejects(later.call(tool, { id }), /was started on far-away, this is .*only there/);
  const [pid = ""] = folder.content("pid").split("\n");
  assert.ok(isAlive(Number(pid)));
  writeFileSync(file, whole);
  await later.call("job_kill", { id });
  assert.equal(isAlive(Number(pid)), false);
});

test("another process ends a job that a dead one has left", async (t) => {
  const folder = new Folder(t);
  const { child, said } = host(t, folder, "stay", "echo $$ > pid; exec sleep 600");
  await said.linesSeen(1);
  await appears(folder.root, "pid");
  await killed(child);
  const later = again(t, folder);
  const id = said.lines[0]?.split(" ")[0];
  assert.match(await later.call("job_kill", { id }), /has ended\]\n\[no output; ended by SIGTERM\]$/);
  assert.equal(isAlive(Number(folder.content("pid"))), false);
});

test("a job whose supervisor was killed is said to be unknown", async (t) => {
  const folder = new Folder(t, {}, { commandDir: undefined });
  const id = await started(folder, "echo $PPID > supervisor; touch ready; exec sleep 600");
  await appears(folder.root, "ready");
  process.kill(Number(folder.content("supervisor")), "SIGKILL");
  assert.match(
    await folder.call("job_output", { id, waitMs: 60_000 }),
    /its supervisor died, and what became of it is not known/,
  );
});

test("a job whose process is dead for long is ended", async (t) => {
  const folder = new Folder(t);
  const { child, said } = host(t, folder, "orphan", "exec sleep 600");
  await said.linesSeen(1);
  await killed(child);
  const call = join(folder.root, "../commands/call-1");
  await appears(call, "exit.json");
  assert.equal(JSON.parse(readFileSync(join(call, "exit.json"), "utf8")).end.stopped, "orphaned");
});

async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Another process's view of the same workspace and archive. */
function again(t: TestContext, folder: Folder): Folder {
  const commandDir = join(folder.root, "../commands");
  mkdirSync(commandDir, { recursive: true });
  return new Folder(t, {}, { cwd: folder.root, commandDir });
}
