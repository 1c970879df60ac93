import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { preventReplacement, replaceFile } from "../src/tools/replacement.ts";
import { Folder } from "./tools-call.ts";

test("creates a file with its folders, and says so", async (t) => {
  const folder = new Folder(t);
  assert.equal(await folder.call("write", { path: "a/b/c.txt", content: "1\n2\n" }), "created a/b/c.txt (2 lines)");
  assert.equal(folder.content("a/b/c.txt"), "1\n2\n");
  assert.deepEqual(readdirSync(join(folder.root, "a/b")), ["c.txt"]);
});

test("replaces a file that was read, keeping its mode and the link to it", async (t) => {
  const folder = new Folder(t, { "run.sh": "old\n" });
  chmodSync(join(folder.root, "run.sh"), 0o751);
  symlinkSync("run.sh", join(folder.root, "link"));
  await folder.call("read", { path: "run.sh" });
  assert.equal(
    await folder.call("write", { path: "link", content: "new\ncontent" }),
    "replaced run.sh (2 lines, before 1)",
  );
  assert.equal(folder.content("run.sh"), "new\ncontent");
  assert.equal(statSync(join(folder.root, "run.sh")).mode & 0o777, 0o751);
  assert.ok(lstatSync(join(folder.root, "link")).isSymbolicLink());
});

test("a file that was never read is not overwritten, unless it is empty", async (t) => {
  const folder = new Folder(t, { "a.txt": "precious\n", "empty.txt": "" });
  await assert.rejects(
    folder.call("write", { path: "a.txt", content: "x" }),
    /a\.txt exists and you have not read it: read it first/,
  );
  assert.equal(folder.content("a.txt"), "precious\n");
  assert.match(await folder.call("write", { path: "empty.txt", content: "x" }), /^replaced/);
});

test("a file changed since it was read is not overwritten; read again it is", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\n" });
  await folder.call("read", { path: "a.txt" });
  folder.put("a.txt", "two\n");
  await assert.rejects(
    folder.call("write", { path: "a.txt", content: "x" }),
    /has changed since you last saw it: read it again/,
  );
  await folder.call("read", { path: "./a.txt" });
  await folder.call("write", { path: "a.txt", content: "three\n" });
  assert.equal(await folder.call("write", { path: "a.txt", content: "four\n" }), "replaced a.txt (1 line, before 1)");
});

test("a write that fails leaves the old file and nothing beside it", async (t) => {
  const folder = new Folder(t, { "a.txt": "old\n", "read-only.txt": "old\n", "file/x": "x" });
  await folder.call("read", { path: "a.txt" });
  await assert.rejects(
    folder.call("write", { path: "a.txt", content: "new" }, { signal: AbortSignal.abort(new Error("stop")) }),
    /stop/,
  );
  assert.equal(folder.content("a.txt"), "old\n");
  chmodSync(join(folder.root, "read-only.txt"), 0o444);
  await folder.call("read", { path: "read-only.txt" });
  await assert.rejects(folder.call("write", { path: "read-only.txt", content: "x" }), /read-only \(mode 444\)/);
  await assert.rejects(folder.call("write", { path: "file", content: "x" }), /is a folder/);
  await assert.rejects(folder.call("write", { path: "a.txt/b", content: "x" }), /a part of the path is a file/);
  await assert.rejects(folder.call("write", { path: "n".repeat(300), content: "x" }), /length|too long/);
  assert.deepEqual(readdirSync(folder.root).sort(), ["a.txt", "file", "read-only.txt"]);
});

test("a full disk leaves the old file and nothing beside it", {
  skip: !existsSync("/dev/full") || process.getuid?.() !== 0,
}, async (t) => {
  const folder = new Folder(t);
  const small = join(folder.root, "small");
  execFileSync("mkdir", [small]);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", small], { stdio: "ignore" });
  } catch {
    return t.skip("no right to mount");
  }
  try {
    folder.put("small/a.txt", "old\n");
    await folder.call("read", { path: "small/a.txt" });
    await assert.rejects(folder.call("write", { path: "small/a.txt", content: "x".repeat(200_000) }), /no space left/);
    assert.equal(folder.content("small/a.txt"), "old\n");
    assert.deepEqual(readdirSync(small), ["a.txt"]);
  } finally {
    execFileSync("umount", [small]);
  }
});

test("a check that fails directly before the rename leaves the old file", async (t) => {
  const folder = new Folder(t, { "a.txt": "old\n" });
  const real = join(folder.root, "a.txt");
  const signal = new AbortController().signal;
  const check = async () => {
    assert.equal(folder.content("a.txt"), "old\n");
    throw new Error("somebody else was here");
  };
  await assert.rejects(replaceFile({ real, content: "new", key: "k", signal, check }), /somebody else/);
  assert.equal(folder.content("a.txt"), "old\n");
  assert.deepEqual(readdirSync(folder.root), ["a.txt"]);
});

test("reconcile: equal content is done, anything else unknown", async (t) => {
  const folder = new Folder(t, { "a.txt": "content\n" });
  const done = await folder.reconcile("write", { path: "a.txt", content: "content\n" }, "k");
  assert.equal(done.verdict, "done");
  assert.deepEqual(await folder.reconcile("write", { path: "a.txt", content: "other\n" }, "k"), { verdict: "unknown" });
  assert.deepEqual(await folder.reconcile("write", { path: "missing.txt", content: "x" }, "k"), { verdict: "unknown" });
  assert.deepEqual(await folder.reconcile("write", { path: "../x", content: "x" }, "k"), { verdict: "unknown" });
});

test("reconcile: not-done only where the body was caught before its rename, which then can never happen", async (t) => {
  const folder = new Folder(t, { "a.txt": "old\n" });
  const real = join(folder.root, "a.txt");
  const input = { path: "a.txt", content: "new\n" };
  let verdict: unknown;
  const late = replaceFile({
    real,
    content: input.content,
    key: "k",
    signal: new AbortController().signal,
    check: async () => {
      verdict = await folder.reconcile("write", input, "k");
    },
  });
  await assert.rejects(late, /ENOENT/);
  assert.deepEqual(verdict, { verdict: "not-done" });
  assert.equal(folder.content("a.txt"), "old\n");
  assert.equal(await preventReplacement(real, "k"), false);
});

test("reconcile after a kill removes the temporary file that was left", async (t) => {
  const folder = new Folder(t, { "a.txt": "old\n" });
  const script = `
    import { replaceFile } from ${JSON.stringify(new URL("../src/tools/replacement.ts", import.meta.url).href)};
    const check = () => process.kill(process.pid, "SIGKILL");
    await replaceFile({ real: ${JSON.stringify(join(folder.root, "a.txt"))}, content: "new", key: "k", signal: new AbortController().signal, check });`;
  const path = join(folder.outside, "killed.mjs");
  writeFileSync(path, script);
  assert.throws(() => execFileSync(process.execPath, [path], { stdio: "pipe" }));
  assert.equal(readdirSync(folder.root).length, 2);
  assert.equal(await folder.call("glob", { pattern: "*" }), "a.txt");
  assert.deepEqual(await folder.reconcile("write", { path: "a.txt", content: "new" }, "k"), { verdict: "not-done" });
  assert.deepEqual(readdirSync(folder.root), ["a.txt"]);
  assert.equal(folder.content("a.txt"), "old\n");
});

test("what one session has read, no other has: a task does not overwrite what only another one knows", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\n" });
  await folder.call("read", { path: "a.txt" }, { session: "task_1" });
  const input = { path: "a.txt", content: "two\n" };
  await assert.rejects(folder.call("write", input, { session: "task_2" }), /you have not read it/);
  await folder.call("write", input, { session: "task_1" });
  assert.equal(folder.content("a.txt"), "two\n");
});
