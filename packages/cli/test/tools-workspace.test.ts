import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Workspace } from "../src/tools/workspace.ts";
import { Folder } from "./tools-call.ts";

test("a path that leads out of the workspace is refused, however it is spelled", async (t) => {
  const folder = new Folder(t, { "a.txt": "a\n", "sub/b.txt": "b\n" });
  symlinkSync(folder.outside, join(folder.root, "out"));
  symlinkSync(join(folder.outside, "secret.txt"), join(folder.root, "leak"));
  symlinkSync(join(folder.outside, "not-yet.txt"), join(folder.root, "dangling"));
  symlinkSync("out", join(folder.root, "twice"));
  const escapes = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    join(folder.outside, "secret.txt"),
    "/etc/passwd",
    "out/secret.txt",
    "twice/secret.txt",
    "out/new/deep/file.txt",
    "leak",
    "dangling",
    "out/../secret.txt",
    `${folder.root}-sibling/x`,
    "..",
  ];
  for (const path of escapes) {
    for (const name of ["read", "ls", "grep"]) {
      const input = { path, pattern: "secret" };
      await assert.rejects(folder.call(name, input), /outside of the workspace/, `${name} ${path}`);
    }
    await assert.rejects(folder.call("write", { path, content: "x" }), /outside of the workspace/, `write ${path}`);
    await assert.rejects(
      folder.call("edit", { path, edits: [{ old: "secret", new: "x" }] }),
      /outside of the workspace/,
    );
    await assert.rejects(folder.call("glob", { pattern: "*", path }), /outside of the workspace/);
  }
  assert.deepEqual(readdirSync(folder.outside), ["secret.txt"]);
  assert.equal(readFileSync(join(folder.outside, "secret.txt"), "utf8"), "secret\n");
});

test("no combination of names, links and dots writes outside", async (t) => {
  const folder = new Folder(t, { "a/b.txt": "b\n" });
  symlinkSync(folder.outside, join(folder.root, "out"));
  symlinkSync("../..", join(folder.root, "a/up"));
  symlinkSync("out/new", join(folder.root, "dangling"));
  const name = fc.constantFrom(
    "..",
    ".",
    "",
    "a",
    "out",
    "up",
    "dangling",
    "b.txt",
    "~",
    "n",
    "a\0",
    "\ud800",
    "secret.txt",
    "outside",
  );
  const path = fc.array(name, { minLength: 1, maxLength: 8 }).map((names) => names.join("/"));
  await fc.assert(
    fc.asyncProperty(path, async (path) => {
      await folder.call("write", { path, content: "written" }).catch(() => undefined);
      await folder.call("edit", { path, edits: [{ old: "secret", new: "x" }] }).catch(() => undefined);
      assert.deepEqual(readdirSync(folder.outside), ["secret.txt"]);
      assert.equal(readFileSync(join(folder.outside, "secret.txt"), "utf8"), "secret\n");
      assert.deepEqual(readdirSync(join(folder.root, "..")).sort(), ["outside", "work"]);
    }),
    { numRuns: 500 },
  );
});

test("a message names the path and what to do", async (t) => {
  const folder = new Folder(t);
  const refused: [string, RegExp][] = [
    ["", /path is empty/],
    ["a\0b", /"a␀b" contains a NUL/],
    ["a\ud800b", /surrogate/],
    ["~/notes.txt", /~ is not expanded/],
    ["../x", /"\.\.\/x" leads to .*outside of the workspace .*inside of it/],
  ];
  for (const [path, message] of refused) await assert.rejects(folder.call("read", { path }), message);
});

test("a loop of links ends in a message", async (t) => {
  const folder = new Folder(t);
  symlinkSync("two", join(folder.root, "one"));
  symlinkSync("one", join(folder.root, "two"));
  await assert.rejects(folder.call("read", { path: "one" }), /loop of links/);
});

test("links within the workspace are followed, and `..` behind one means the target's parent", async (t) => {
  const folder = new Folder(t, { "deep/er/a.txt": "deep\n", "deep/b.txt": "b\n", "b.txt": "top\n" });
  symlinkSync("deep/er", join(folder.root, "short"));
  assert.match(await folder.call("read", { path: "short/a.txt" }), /deep/);
  assert.match(await folder.call("read", { path: "short/../b.txt" }), /1\tb/);
});

test("R69: all spellings of a file give one lock key, also before it exists", async (t) => {
  const folder = new Folder(t, { "sub/a.txt": "a\n" });
  symlinkSync("sub/a.txt", join(folder.root, "link"));
  symlinkSync("sub", join(folder.root, "folder"));
  const spellings = [
    "sub/a.txt",
    "./sub/a.txt",
    "sub/../sub//a.txt",
    "link",
    "folder/a.txt",
    join(folder.root, "sub/a.txt"),
  ];
  const keys = new Set<string>();
  for (const path of spellings) {
    const [lock, ...more] = await folder.locks("edit", { path, edits: [] });
    assert.equal(lock?.mode, "write");
    assert.deepEqual(more, []);
    keys.add(lock?.key ?? "");
    assert.deepEqual(await folder.locks("read", { path }), [{ key: lock?.key, mode: "read" }]);
  }
  assert.equal(keys.size, 1);
  symlinkSync("new/file.txt", join(folder.root, "ahead"));
  assert.deepEqual(
    await folder.locks("write", { path: "ahead" }),
    await folder.locks("write", { path: "./new/file.txt" }),
  );
  assert.notDeepEqual(await folder.locks("write", { path: "one" }), await folder.locks("write", { path: "two" }));
});

test("listing tools wait for every writer and for no reader; bash waits for all", async (t) => {
  const folder = new Folder(t);
  for (const name of ["ls", "glob", "grep"])
    assert.deepEqual(await folder.locks(name, { pattern: "x" }), [{ key: "*", mode: "read" }]);
  assert.deepEqual(await folder.locks("bash", { command: "true" }), [{ key: "*", mode: "write" }]);
  assert.deepEqual(await folder.locks("write", { path: "../out" }), [{ key: "*", mode: "write" }]);
});

test("R69: six edits at once by six spellings are all there", async (t) => {
  const folder = new Folder(t, { "sub/a.txt": "1\n2\n3\n4\n5\n6\n" });
  symlinkSync("sub/a.txt", join(folder.root, "link"));
  symlinkSync("sub", join(folder.root, "folder"));
  const spellings = [
    "sub/a.txt",
    "./sub/a.txt",
    "sub/../sub//a.txt",
    "link",
    "folder/a.txt",
    join(folder.root, "sub/a.txt"),
  ];
  await Promise.all(
    spellings.map((path, i) => folder.call("edit", { path, edits: [{ old: `${i + 1}\n`, new: `edit ${i + 1}\n` }] })),
  );
  assert.equal(folder.content("sub/a.txt"), "edit 1\nedit 2\nedit 3\nedit 4\nedit 5\nedit 6\n");
});

test("a workspace that is missing or is a file is refused at once", (t) => {
  const folder = new Folder(t, { "a.txt": "a" });
  assert.throws(() => new Workspace(join(folder.root, "missing")), /cannot be opened/);
  assert.throws(() => new Workspace(join(folder.root, "a.txt")), /not a folder/);
});

test("a workspace reached by a link is the real one", async (t) => {
  const folder = new Folder(t, { "a.txt": "a\n" });
  const link = join(folder.outside, "link");
  symlinkSync(folder.root, link);
  const workspace = new Workspace(link);
  assert.equal((await workspace.resolve(join(link, "a.txt"), "read")).shown, "a.txt");
  assert.equal((await workspace.resolve(join(folder.root, "a.txt"), "read")).shown, "a.txt");
});

test("a folder given for reading is not given for writing", async (t) => {
  const folder = new Folder(t);
  mkdirSync(join(folder.outside, "spill"));
  const workspace = new Workspace(folder.root);
  workspace.giveForReading(join(folder.outside, "spill"));
  const path = join(folder.outside, "spill", "x.txt");
  assert.equal((await workspace.resolve(path, "read")).real, path);
  await assert.rejects(workspace.resolve(path, "write"), /outside of the workspace/);
  assert.equal(existsSync(path), false);
});
