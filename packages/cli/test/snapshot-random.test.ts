/** Any mixture of changes, kept step by step: each state comes back byte for byte, and so does the last one. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { SnapshotWorld } from "./snapshot-world.ts";

const names = [
  "a.txt",
  "b",
  "d",
  "d/e",
  "d/e/f",
  "d/g.sh",
  "sp ace",
  "-dash",
  "new\nline",
  "ünï",
  "x[1]*",
  "git~1",
  ".gitattributes",
];
const name = fc.constantFrom(...names);
const content = fc.oneof(
  fc.constantFrom("one\r\ntwo\r\n", "$Id$ one\n", "* text=auto eol=crlf ident\n", "", "\0binary\xff"),
  fc.string({ maxLength: 20 }),
);

type Change =
  | { do: "write"; path: string; content: string }
  | { do: "flip"; path: string }
  | { do: "delete"; path: string }
  | { do: "move"; path: string; to: string }
  | { do: "chmod"; path: string; mode: number }
  | { do: "link"; path: string; to: string }
  | { do: "command"; line: string };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ do: fc.constant("write" as const), path: name, content }),
  fc.record({ do: fc.constant("flip" as const), path: name }),
  fc.record({ do: fc.constant("delete" as const), path: name }),
  fc.record({ do: fc.constant("move" as const), path: name, to: name }),
  fc.record({ do: fc.constant("chmod" as const), path: name, mode: fc.constantFrom(0o644, 0o755) }),
  fc.record({ do: fc.constant("link" as const), path: name, to: fc.constantFrom("a.txt", "d", "nowhere", "/etc") }),
  fc.record({
    do: fc.constant("command" as const),
    line: fc.constantFrom(
      "printf '%s' changed >> tracked.txt; rm -f other.txt",
      "mkdir -p nested/sub && cd nested && git init -q && echo n > n.txt && echo s > sub/s.txt",
      "mkdir -p nested && echo more >> nested/n.txt",
      "printf 'x' > \"$(printf 'bad\\377name')\"",
      "echo out > build/out.o",
      "rm -rf d; mv tracked.txt moved.txt",
    ),
  }),
);

/** What does not fit (a folder that is not empty, a name below a file) is passed over: a command may fail, too. */
function apply(work: string, it: Change): void {
  const at = (path: string) => join(work, path);
  try {
    switch (it.do) {
      case "write":
        mkdirSync(dirname(at(it.path)), { recursive: true });
        if (lstatSync(at(it.path), { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(at(it.path));
        return writeFileSync(at(it.path), Buffer.from(it.content, "latin1"));
      case "flip":
        // The same length within the same second, in the same inode: what a time stamp alone would not show.
        return lstatSync(at(it.path)).isFile()
          ? writeFileSync(at(it.path), "~".repeat(lstatSync(at(it.path)).size))
          : undefined;
      case "delete":
        return rmSync(at(it.path), { recursive: true, force: true });
      case "move":
        return renameSync(at(it.path), at(it.to));
      case "chmod":
        return lstatSync(at(it.path)).isFile() ? chmodSync(at(it.path), it.mode) : undefined;
      case "link":
        rmSync(at(it.path), { recursive: true, force: true });
        return symlinkSync(it.to, at(it.path));
      case "command":
        execFileSync("sh", ["-c", it.line], { cwd: work, stdio: "ignore" });
    }
  } catch {
    return;
  }
}

function ownRepository(world: SnapshotWorld): void {
  world.git("init", "-q");
  world.write("tracked.txt", "tracked\n");
  world.write("other.txt", "other\r\n");
  world.write("d/e/f", "deep\n");
  world.write(".gitignore", "build/\n*.log\n");
  world.write("forced.log", "tracked though ignored\n");
  world.git("add", "-A");
  world.git("add", "-f", "forced.log");
  world.git("commit", "-qm", "first");
  world.write("tracked.txt", "stashed\n");
  world.git("stash", "-q");
  world.write("staged.txt", "staged\n");
  world.git("add", "staged.txt");
  world.write("build/out.o", "built\n");
}

test("every state of any mixture of changes comes back byte for byte; the person's repository is never touched", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 8 }),
      fc.nat(),
      async (steps, pick) => {
        const world = new SnapshotWorld(t);
        ownRepository(world);
        const built = world.files()["build/out.o"];
        const own = world.ownGit();
        const states: { commit: string; files: { [path: string]: string } }[] = [];
        for (const changes of steps) {
          states.push({ commit: await world.keep(), files: world.files() });
          for (const each of changes) apply(world.work, each);
        }
        const last = { commit: await world.keep(), files: world.files() };
        const target = states[pick % states.length];
        assert.ok(target);
        const ignored = last.files["build/out.o"];
        assert.deepEqual(await world.goTo(target.commit), []);
        assert.deepEqual(withoutBuilt(world.files()), withoutBuilt(target.files));
        assert.equal(world.files()["build/out.o"], ignored ?? built);
        assert.deepEqual(world.ownGit(), own);
        assert.deepEqual(await world.goTo(last.commit), []);
        assert.deepEqual(world.files(), last.files);
        assert.deepEqual(world.ownGit(), own);
        assert.ok(existsSync(join(world.work, ".git", "refs", "stash")));
        rmSync(world.root, { recursive: true, force: true });
      },
    ),
    { numRuns: 12 },
  );
});

/** What is ignored is nobody's to bring back. */
function withoutBuilt(files: { [path: string]: string }): { [path: string]: string } {
  const { "build/out.o": _, ...rest } = files;
  return rest;
}
