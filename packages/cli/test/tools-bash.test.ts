import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Folder } from "./tools-call.ts";

const linux = process.platform === "linux";

test("gives both streams in the order they were written, and the exit code", async (t) => {
  const folder = new Folder(t);
  const { text, isError } = await folder.result("bash", { command: "echo 1; echo 2 >&2; echo 3; echo 4 >&2; exit 3" });
  assert.equal(text, "1\n2\n3\n4\n[exit code 3]");
  assert.equal(isError, true);
  assert.deepEqual(await folder.result("bash", { command: "true" }), {
    text: "[no output; exit code 0]",
    isError: false,
  });
});

test("runs in the workspace with the given environment and a closed stdin", async (t) => {
  const folder = new Folder(t, {}, { env: { PATH: process.env["PATH"], COLOUR: "blue" } });
  assert.equal(
    await folder.call("bash", { command: 'pwd; echo "$COLOUR"; cat; echo "$0"' }),
    `${folder.root}\nblue\n/bin/bash\n[exit code 0]`,
  );
});

test("quotes and command lines with several lines arrive as they are", async (t) => {
  const folder = new Folder(t);
  assert.equal(
    await folder.call("bash", { command: "printf '%s|' \"a b\" '$x' \"it's\"\necho\ncat <<'X'\n$HOME\nX" }),
    "a b|$x|it's|\n$HOME\n[exit code 0]",
  );
});

test("an empty command and a NUL are refused, one too long for the system is explained", async (t) => {
  const folder = new Folder(t);
  await assert.rejects(folder.call("bash", { command: " " }), /command is empty/);
  await assert.rejects(folder.call("bash", { command: "echo \0" }), /NUL/);
  await assert.rejects(
    folder.call("bash", { command: `: ${"x".repeat(3_000_000)}` }),
    /too long for the system: write it to a file/,
  );
});

test("a command killed by a signal says which", async (t) => {
  const folder = new Folder(t);
  assert.deepEqual(await folder.result("bash", { command: "kill -9 $$" }), {
    text: "[no output; ended by SIGKILL]",
    isError: true,
  });
});

test("R51: control characters are shown, colours removed, text is well-formed", async (t) => {
  const folder = new Folder(t);
  const { text } = await folder.result("bash", {
    command: String.raw`printf 'a\0b \033[31mred\033[0m \x07 50%%\r100%%\n\xff\xf0\x9f\x98\x80 %s\n' '\ud800' | cat; echo plain plain plain`,
  });
  assert.equal(text, "a␀b red ␇ 50%\n100%\n�😀 \\ud800\nplain plain plain\n[exit code 0]");
});

test("R51: a character whose bytes come in two chunks is whole", async (t) => {
  const folder = new Folder(t);
  const command = String.raw`printf '\xf0\x9f'; while [ ! -e go ]; do :; done; printf '\x98\x80\n'`;
  const call = folder.call("bash", { command: `touch started; ${command}` });
  await exists(folder.root, "started");
  folder.put("go", "");
  assert.equal(await call, "😀\n[exit code 0]");
});

test("R51: binary output is summed up and saved", async (t) => {
  const folder = new Folder(t);
  const text = await folder.call("bash", { command: "head -c 5000 /dev/urandom" });
  const path = /^\[binary output, 5\.0 kB, not shown; the whole output is in (\S+) /.exec(text)?.[1];
  assert.ok(path !== undefined);
  assert.equal(readFileSync(path).length, 5_000);
});

test("R72: a long output is cut in the middle, and saved whole in a file that read may open", async (t) => {
  const folder = new Folder(t);
  const text = await folder.call("bash", { command: "echo first; yes 0123456789 | head -c 55000000; echo last" });
  assert.ok(text.length < 31_000);
  assert.match(text, /^first\n0123456789\n/);
  assert.match(text, /\nlast\n\[exit code 0\]$/);
  const [, left, path] =
    /\[… (\d+) characters left out; the whole output is in (\S+) \(look into it with read or grep\) …\]/.exec(text) ??
    [];
  assert.equal(Number(left), 55_000_011 - 30_000);
  assert.ok(path !== undefined);
  assert.equal(readFileSync(path).length, 55_000_011);
  assert.match(await folder.call("read", { path, limit: 1 }), /^1\tfirst\n/);
  await assert.rejects(folder.call("write", { path, content: "x" }), /outside of the workspace/);
});

test("R51: emojis straddling both cuts are not split", async (t) => {
  const folder = new Folder(t);
  for (const pad of ["", "a"]) {
    folder.put("out.txt", `${pad}${"😀".repeat(30_000)}${pad}`);
    const text = await folder.call("bash", { command: "cat out.txt" });
    assert.equal(text.includes("\ufffd"), false);
    assert.ok(text.isWellFormed());
    assert.match(text, /characters left out/);
  }
});

test("where the output cannot be saved, the result says so and keeps what it has", async (t) => {
  const folder = new Folder(t, { file: "" }, { spillDir: "/proc/version/spill" });
  const text = await folder.call("bash", { command: "yes | head -c 100000; echo last" });
  assert.match(text, /the whole output could not be saved: /);
  assert.match(text, /last\n\[exit code 0\]$/);
});

test("progress comes while it runs: the first lines at once, a flood in few events", async (t) => {
  const folder = new Folder(t);
  const told: string[] = [];
  const progress = (data: unknown) => {
    told.push((data as { output: string }).output);
    if (told.length === 1) folder.put("go", "");
  };
  await folder.call(
    "bash",
    { command: "echo first; while [ ! -e go ]; do :; done; yes line | head -c 10000000" },
    { progress },
  );
  assert.equal(told[0], "first\n");
  assert.ok(told.length > 2 && told.length < 400, `${told.length} events`);
  assert.ok(told.every((text) => text.length <= 2_000 && text.isWellFormed()));
});

test("R65: abort ends the whole group, also a child that ignores TERM", async (t) => {
  const folder = new Folder(t);
  const controller = new AbortController();
  const command = `sh -c 'sleep 60 & echo $! > one; sleep 60 & echo $! > two; sh -c "trap : TERM; touch ready; while :; do sleep 1; done" & echo $! > deaf; wait'`;
  const call = folder.result("bash", { command }, { signal: controller.signal });
  await exists(folder.root, "ready");
  controller.abort();
  const { text, isError } = await call;
  assert.equal(isError, true);
  assert.match(
    text,
    /ended by SIG(TERM|KILL)\]\n\[it was ended because the call was aborted; its effects so far stand\]$/,
  );
  for (const name of ["one", "two", "deaf"]) assert.equal(isAlive(Number(folder.content(name))), false, name);
});

test("the deadline ends it the same way, keeps the output so far, and says what to do", async (t) => {
  const folder = new Folder(t);
  const { text, isError } = await folder.result("bash", { command: "echo before; sleep 60", timeoutMs: 2_000 });
  assert.equal(isError, true);
  assert.equal(
    text,
    "before\n[ended by SIGTERM]\n[it ran into its limit of 2000 ms and was ended; its effects so far stand. Set timeoutMs if it needs longer]",
  );
});

test("a command that tidies up on TERM gets the time to", async (t) => {
  const folder = new Folder(t);
  const controller = new AbortController();
  const command = "trap 'touch tidy; exit 7' TERM; touch ready; while :; do sleep 0.05; done";
  const call = folder.call("bash", { command }, { signal: controller.signal });
  await exists(folder.root, "ready");
  controller.abort();
  assert.match(await call, /exit code 7/);
  assert.ok(existsSync(join(folder.root, "tidy")));
});

test("aborted before its start, nothing runs", async (t) => {
  const folder = new Folder(t);
  await assert.rejects(
    folder.call("bash", { command: "touch ran" }, { signal: AbortSignal.abort(new Error("stop")) }),
    /stop/,
  );
  assert.deepEqual(readdirSync(folder.root), []);
});

test("a background child does not hold it up, is named, and lives on", async (t) => {
  const folder = new Folder(t);
  const command =
    "while [ ! -e go ]; do sleep 0.05; echo tick; done & echo $! > pid; while [ ! -s pid ]; do :; done; echo started";
  const text = await folder.call("bash", { command });
  const pid = Number(folder.content("pid"));
  assert.match(text, /^started|tick/);
  assert.match(
    text,
    new RegExp(`\\[exit code 0\\]\\n\\[still running in the background, further output is not seen: ${pid} \\(`),
  );
  assert.equal(isAlive(pid), true);
  // It goes on writing into a pipe that is still read: it ends by its own will, not by a broken pipe.
  await folder.call("bash", {
    command: `touch go; while kill -0 ${pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/${pid}/status; do :; done`,
    timeoutMs: 20_000,
  });
  assert.equal(isAlive(pid), false);
});

test("R65: a child that left the group is declared", { skip: !linux }, async (t) => {
  const folder = new Folder(t);
  const text = await folder.call("bash", {
    command: "setsid sh -c 'echo $$ > pid; exec sleep 60' >/dev/null 2>&1 & while [ ! -s pid ]; do :; done",
  });
  const pid = Number(folder.content("pid"));
  t.after(() => process.kill(pid));
  assert.match(text, new RegExp(`\\[still running, detached from the command: ${pid} \\(`));
});

test("R65: groups that still run are ended when the runtime exits", async (t) => {
  const folder = new Folder(t);
  const tools = JSON.stringify(new URL("../src/tools/workspace-tools.ts", import.meta.url).href);
  const script = `
    import { existsSync, watch } from "node:fs";
    import { workspaceTools } from ${tools};
    const context = (id) => ({ signal: new AbortController().signal, callId: id, idempotencyKey: id, progress() {} });
    const { bash } = workspaceTools({ cwd: process.argv[2] });
    await bash.execute({ command: "sleep 60 >/dev/null 2>&1 & echo $! > background" }, context("one"));
    void bash.execute({ command: "echo $$ > foreground; touch ready; sleep 60" }, context("two"));
    const leave = () => { if (existsSync(process.argv[2] + "/ready")) process.exit(0); };
    watch(process.argv[2], leave);
    leave();`;
  writeFileSync(join(folder.outside, "host.mjs"), script);
  execFileSync(process.execPath, [join(folder.outside, "host.mjs"), folder.root], { timeout: 120_000 });
  for (const name of linux ? ["foreground", "background"] : ["foreground"]) {
    assert.equal(isAlive(Number(folder.content(name))), false, name);
  }
});

test("a workspace that is gone is named", async (t) => {
  const folder = new Folder(t);
  execFileSync("rm", ["-r", folder.root]);
  await assert.rejects(folder.call("bash", { command: "true" }), /the folder .*work is gone: nothing was run/);
});

test("a command can wait for another program", async (t) => {
  const folder = new Folder(t);
  execFileSync("mkfifo", [join(folder.root, "pipe")]);
  const call = folder.call("bash", { command: "cat pipe" });
  const writer = spawn("sh", ["-c", "echo hello > pipe"], { cwd: folder.root, stdio: "ignore" });
  assert.equal(await call, "hello\n[exit code 0]");
  writer.unref();
});

/** Resolves once the folder has a file of that name. */
async function exists(folder: string, name: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(folder, () => existsSync(join(folder, name)) && resolve());
  if (existsSync(join(folder, name))) resolve();
  await promise;
  watcher.close();
}

/** Dead and not yet collected counts as dead. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !linux || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
