/** What a snapshot holds of a folder, what it leaves alone, and what cannot put it off its way. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileBytes, newBytes } from "../src/snapshot/listing.ts";
import { planFor } from "../src/snapshot/restore.ts";
import { Shadow } from "../src/snapshot/shadow.ts";
import { checkFolder } from "../src/snapshot/surroundings.ts";
import { SnapshotWorld } from "./snapshot-world.ts";

const forge = '#!/bin/sh\ntouch "$(dirname "$0")/../../../ran"\n';

test("the person's repository, its hooks, filters, attributes, watcher and variables: not run, not followed, not changed", async (t) => {
  const world = new SnapshotWorld(t);
  world.git("init", "-q");
  world.write("crlf.txt", "a\r\nb\r\n");
  world.write("id.txt", "$Id$\n");
  world.write("utf16.txt", Buffer.from("\ufeffhi\n", "utf16le"));
  world.write(".gitattributes", "*.txt text eol=crlf ident filter=evil\nutf16.txt working-tree-encoding=UTF-16\n");
  world.git("add", "-A");
  world.git("commit", "-qm", "first");
  for (const hook of ["post-index-change", "reference-transaction", "pre-auto-gc"])
    world.write(`.git/hooks/${hook}`, forge, 0o755);
  world.write(".git/watch", forge, 0o755);
  const ran = `touch ${join(world.root, "ran")}; cat`;
  for (const [key, value] of [
    ["filter.evil.clean", ran],
    ["filter.evil.smudge", ran],
    ["core.fsmonitor", ".git/watch"],
  ] as const)
    world.git("config", key, value);
  const [own, files] = [world.ownGit(), world.files()];
  const [known, set] = [process.env["GIT_DIR"], process.env["GIT_INDEX_FILE"]];
  Object.assign(process.env, { GIT_DIR: "/nonexistent", GIT_INDEX_FILE: "/nonexistent" });
  t.after(() => {
    for (const [name, value] of [
      ["GIT_DIR", known],
      ["GIT_INDEX_FILE", set],
    ] as const)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  const commit = await world.keep();
  for (const name of ["crlf.txt", "id.txt", "utf16.txt"]) rmSync(join(world.work, name));
  assert.deepEqual(await world.goTo(commit), []);
  assert.deepEqual(world.files(), files);
  assert.deepEqual(world.ownGit(), own);
  assert.equal(existsSync(join(world.root, "ran")), false);
});

// Where git looks at the nanoseconds of the change time, it would notice without our care, too.
test("a file that changes within the second of its snapshot, to the same length, in the same place: noticed", async (t) => {
  const world = new SnapshotWorld(t);
  const shadow = await world.shadow();
  const then = Math.floor(Date.now() / 1000) - 100;
  world.write("a", "one");
  utimesSync(join(world.work, "a"), then, then);
  await world.keep();
  // As if all of it had happened within that second, and the next snapshot came later.
  const index = readdirSync(shadow.dir).find((name) => /^index-\w+$/.test(name)) ?? "";
  utimesSync(join(shadow.dir, index), then, then);
  writeFileSync(join(world.work, "a"), "two");
  utimesSync(join(world.work, "a"), then, then);
  const commit = await world.keep();
  rmSync(join(world.work, "a"));
  await world.goTo(commit);
  assert.equal(readFileSync(join(world.work, "a"), "utf8"), "two");
});

test("permissions: what others may do comes back, also where nothing else has changed", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("secret.env", "KEY=1\n");
  world.write("tool.sh", "#!/bin/sh\n");
  chmodSync(join(world.work, "secret.env"), 0o600);
  chmodSync(join(world.work, "tool.sh"), 0o750);
  const files = world.files();
  const commit = await world.keep();
  rmSync(join(world.work, "secret.env"));
  writeFileSync(join(world.work, "tool.sh"), "#!/bin/bash\n");
  chmodSync(join(world.work, "tool.sh"), 0o644);
  await world.goTo(commit);
  assert.deepEqual(world.files(), files);
  chmodSync(join(world.work, "tool.sh"), 0o700);
  const shadow = await world.shadow();
  // A change of the change time alone is told to the second.
  for (const name of readdirSync(shadow.dir)) if (/^index-\w+$/.test(name)) rmSync(join(shadow.dir, name));
  await world.goTo(commit);
  assert.deepEqual(world.files(), files);
});

test("what git ignores, by every file that says so, is not kept, not removed and not brought back; what is tracked is", async (t) => {
  const world = new SnapshotWorld(t);
  const home = join(world.root, "home");
  mkdirSync(join(home, "git"), { recursive: true });
  writeFileSync(join(home, "git", "ignore"), "*.swp\n");
  const before = process.env["XDG_CONFIG_HOME"];
  process.env["XDG_CONFIG_HOME"] = home;
  t.after(() => {
    if (before === undefined) delete process.env["XDG_CONFIG_HOME"];
    else process.env["XDG_CONFIG_HOME"] = before;
  });
  world.git("init", "-q");
  world.write(".gitignore", "node_modules/\n*.log\n!keep.log\n");
  world.write(".git/info/exclude", "local/\n");
  for (const path of ["node_modules/a/b.js", "x.log", "local/note", "a.swp"]) world.write(path, "ignored\n");
  for (const path of ["keep.log", "src/a.ts"]) world.write(path, "kept\n");
  world.write("forced.log", "tracked\n");
  world.git("add", "-f", "forced.log");
  const commit = await world.keep();
  for (const path of ["x.log", "keep.log", "forced.log", "local/note"]) world.write(path, "changed\n");
  world.write("node_modules/new.js", "new\n");
  assert.deepEqual(await world.goTo(commit), []);
  const read = (path: string) => readFileSync(join(world.work, path), "utf8");
  assert.deepEqual(["x.log", "local/note", "node_modules/new.js"].map(read), ["changed\n", "changed\n", "new\n"]);
  assert.deepEqual(["keep.log", "forced.log"].map(read), ["kept\n", "tracked\n"]);
});

test("rules that were changed meanwhile: what they ignored is not removed with the change", async (t) => {
  const world = new SnapshotWorld(t);
  world.write(".gitignore", "node_modules/\n/data/*\n");
  world.write("node_modules/a.js", "installed\n");
  world.write("data/big", "precious\n");
  const commit = await world.keep();
  world.write(".gitignore", "");
  world.write("new.txt", "new\n");
  assert.deepEqual(await world.goTo(commit), []);
  assert.deepEqual(Object.keys(world.files()), [".gitignore", "data/big", "node_modules/a.js"]);
  assert.match(readFileSync(join(world.work, ".gitignore"), "utf8"), /node_modules/);
});

test("repositories inside of the folder, also empty and nested ones: their files come back, what is theirs stays theirs", async (t) => {
  const world = new SnapshotWorld(t);
  world.git("init", "-q");
  for (const inner of ["inner", "inner/deep", "bare-of-commits"]) {
    mkdirSync(join(world.work, inner), { recursive: true });
    world.git("init", "-q", inner);
    world.write(`${inner}/file.txt`, `${inner}\n`);
  }
  world.git("-C", "inner", "add", "file.txt");
  world.git("-C", "inner", "commit", "-qm", "one");
  const files = world.files(world.work, false);
  const commit = await world.keep();
  for (const inner of ["inner", "inner/deep", "bare-of-commits"]) world.write(`${inner}/file.txt`, "changed\n");
  rmSync(join(world.work, "inner/deep/file.txt"));
  world.write("inner/more/new.txt", "new\n");
  assert.deepEqual(await world.goTo(commit), []);
  assert.deepEqual(world.files(world.work, false), files);
});

test("a huge file: left out by name, neither removed nor overwritten, whichever side it is on", async (t) => {
  const world = new SnapshotWorld(t);
  const shadow = await world.shadow();
  const huge = join(world.work, "movie.mkv");
  writeFileSync(huge, "small\n");
  const small = await world.keep();
  truncateSync(huge, fileBytes + 1);
  const kept = await shadow.keep();
  assert.deepEqual(kept.leftOut, [{ path: "movie.mkv", why: "large" }]);
  const plan = await planFor(shadow, kept, await shadow.read(small));
  assert.deepEqual([plan.remove, plan.write], [[], []]);
  assert.deepEqual(plan.spared, kept.leftOut);
  const large = await world.keep();
  writeFileSync(huge, "small again\n");
  await world.goTo(large);
  assert.equal(readFileSync(huge, "utf8"), "small again\n");
});

test("files, folders and links change places: all come back, and nothing behind a link is touched", async (t) => {
  const world = new SnapshotWorld(t);
  const outside = join(world.root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "f"), "not ours\n");
  world.write("d/f", "in a folder\n");
  world.write("file", "a file\n");
  symlinkSync("d", join(world.work, "link"));
  const files = world.files();
  const commit = await world.keep();
  renameSync(join(world.work, "d"), join(world.work, "gone"));
  rmSync(join(world.work, "gone"), { recursive: true });
  symlinkSync(outside, join(world.work, "d"));
  rmSync(join(world.work, "file"));
  world.write("file/inside/x", "now a folder\n");
  rmSync(join(world.work, "link"));
  world.write("link", "now a file\n");
  const later = { files: world.files(), commit: await world.keep() };
  assert.deepEqual(await world.goTo(commit), []);
  assert.deepEqual(world.files(), files);
  assert.equal(readFileSync(join(outside, "f"), "utf8"), "not ours\n");
  assert.deepEqual(await world.goTo(later.commit), []);
  assert.deepEqual(world.files(), later.files);
  assert.equal(readlinkSync(join(world.work, "d")), outside);
});

test("what is ignored stands in the way: said, the rest is done, and doing it again after it went completes it", async (t) => {
  const world = new SnapshotWorld(t);
  world.write(".gitignore", "*.log\n");
  world.write("place", "a file\n");
  world.write("other", "other\n");
  const commit = await world.keep();
  rmSync(join(world.work, "place"));
  rmSync(join(world.work, "other"));
  world.write("place/x.log", "ignored\n");
  const [problem] = await world.goTo(commit);
  assert.match(problem ?? "", /^place: a folder with ignored or left-out files is in its place: move them away/);
  assert.equal(existsSync(join(world.work, "other")), true);
  assert.equal(existsSync(join(world.work, "place/x.log")), true);
  rmSync(join(world.work, "place"), { recursive: true });
  assert.deepEqual(await world.goTo(commit), []);
  assert.equal(readFileSync(join(world.work, "place"), "utf8"), "a file\n");
});

test("a folder inside of a repository: the rules above it apply, its neighbours are not its own; one that is ignored is its own world", async (t) => {
  const world = new SnapshotWorld(t);
  world.git("init", "-q");
  world.write(".gitignore", "*.log\nprivate/\n");
  for (const path of ["app/a.ts", "app/x.log", "lib/b.ts", "private/c.ts"]) world.write(path, "1\n");
  const keptIn = async (folder: string) => {
    const shadow = await Shadow.of(world.base, join(world.work, folder));
    const { tree } = await shadow.keep();
    return (await shadow.git(["ls-tree", "-r", "--name-only", tree])).toString().trim();
  };
  assert.equal(await keptIn("app"), "a.ts");
  assert.equal(await keptIn("private"), "c.ts");
  mkdirSync(join(world.work, "empty"));
  assert.equal(await keptIn("empty"), "");
});

test("the store inside of the folder is no part of it", async (t) => {
  const world = new SnapshotWorld(t);
  world.write(".gitignore", "!*\n");
  world.write("a", "a\n");
  world.write("[odd] store/pawl.db", "sessions\n");
  const shadow = await Shadow.of(join(world.work, "[odd] store", "snapshots"), world.work);
  const { tree } = await shadow.keep();
  assert.equal((await shadow.git(["ls-tree", "-r", "--name-only", tree])).toString(), ".gitignore\na\n");
});

test("several at the same time, of one folder: each is whole", async (t) => {
  const world = new SnapshotWorld(t);
  for (let n = 0; n < 50; n += 1) world.write(`d${n % 5}/f${n}`, `${n}\n`);
  const commits = await Promise.all(Array.from({ length: 6 }, () => world.keep()));
  const shadow = await world.shadow();
  const trees = await Promise.all(commits.map(async (commit) => (await shadow.read(commit)).tree));
  assert.equal(new Set(trees).size, 1);
  await shadow.git(["fsck", "--strict", "--no-dangling"]);
  assert.deepEqual(
    readdirSync(shadow.dir).filter((name) => name.includes(".tmp")),
    [],
  );
});

test("what a killed process leaves (locks, half an index, lost objects, half a repository) does not stop the next snapshot", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("a", "a\n");
  await world.keep();
  const shadow = await world.shadow();
  const index = readdirSync(shadow.dir).find((name) => /^index-\w+$/.test(name)) ?? "";
  for (const name of ["index.lock", `${index}.lock`, `${index}.x.tmp`, `${index}.x.tmp.lock`, "packed-refs.new"])
    writeFileSync(join(shadow.dir, name), "half");
  await world.keep();
  const whole = readFileSync(join(shadow.dir, index));
  writeFileSync(join(shadow.dir, index), whole.subarray(0, whole.length / 2));
  await world.keep();
  writeFileSync(join(shadow.dir, `${index}.modes`), "[[");
  await world.keep();
  rmSync(join(shadow.dir, "objects"), { recursive: true });
  mkdirSync(join(shadow.dir, "objects"));
  const commit = await world.keep();
  rmSync(join(world.work, "a"));
  await world.goTo(commit);
  assert.equal(readFileSync(join(world.work, "a"), "utf8"), "a\n");
  rmSync(join(shadow.dir, "pawl.json"));
  rmSync(join(shadow.dir, "HEAD"));
  await world.keep();
});

test("stopped in its middle: it says so at once, and the next one needs no longer for it", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("a", "a\n");
  const shadow = await world.shadow();
  const stop = new AbortController();
  const kept = shadow.keep(stop.signal);
  stop.abort();
  await assert.rejects(kept, { name: "AbortError" });
  await world.keep();
  assert.deepEqual(
    readdirSync(shadow.dir).filter((name) => name.includes(".tmp")),
    [],
  );
});

test("the whole file system, a home folder, and what holds one: refused with what to do", () => {
  for (const folder of ["/", process.env["HOME"] ?? "/", join(process.env["HOME"] ?? "/", "..")])
    assert.throws(() => checkFolder(folder), /no snapshots are taken of it; work in a folder below/);
  checkFolder(join(process.env["HOME"] ?? "/", "project"));
});

test("more new bytes than a disk should be asked to keep: no snapshot, and what to do about it", async (t) => {
  const world = new SnapshotWorld(t);
  const count = Math.ceil(newBytes / fileBytes) + 1;
  for (let n = 0; n < count; n += 1) {
    world.write(`data/${n}`, "");
    // Holes: on the disk they are nothing.
    truncateSync(join(world.work, `data/${n}`), fileBytes);
  }
  await assert.rejects(
    world.keep(),
    /has 2\.1 GB of new files, and a snapshot takes in 2\.0 GB at most; name .* in \.gitignore/,
  );
  world.write(".gitignore", "data/\n");
  await world.keep();
});

test("nobody else may read what is kept", async (t) => {
  const world = new SnapshotWorld(t);
  world.write("a", "a\n");
  await world.keep();
  assert.equal(statSync((await world.shadow()).dir).mode & 0o077, 0);
});
