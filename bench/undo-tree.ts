/**
 * `node bench/undo-tree.ts [FILES]`: a turn of ten mixed edits and commands in a repository of 50,000 files, its undo and
 * its redo, in seconds, as a person waits for them: the real `pawl` against a scripted model. Not measured: a model. Exit code 1 where a
 * single byte, or a permission, of a tracked or untracked file, or anything of the folder's own `.git`, is not as it was.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Entry, startModelServer } from "@pawl/model-server";

const bin = fileURLToPath(new URL("../packages/cli/bin/pawl.js", import.meta.url));
const files = Number(process.argv[2] ?? 50_000);

const root = realpathSync(mkdtempSync(join(tmpdir(), "pawl-undo-tree-")));
const work = join(root, "work");

function makeTree(): void {
  for (let n = 0; n < files; n += 1) {
    const folder = join(work, `src${n % 50}`, `part${Math.floor(n / 50) % 20}`);
    if (n < 1_000) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file${n}.ts`), `export const value${n} = ${n};\n`.repeat(1 + (n % 40)));
  }
  writeFileSync(join(work, ".gitignore"), "build/\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a", "-c", "gc.auto=0", ...args], { cwd: work });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  writeFileSync(join(work, "untracked.txt"), "untracked\n");
}

/** Every file, link and permission below a folder, ignored ones left out. */
function stateOf(folder: string): string {
  const state = createHash("sha256");
  const walk = (path: string) => {
    for (const name of readdirSync(path).sort()) {
      const file = join(path, name);
      const stats = lstatSync(file);
      if (stats.isDirectory() && name !== "build" && !(path === work && name === ".git")) walk(file);
      if (stats.isDirectory()) continue;
      const content = stats.isSymbolicLink() ? readlinkSync(file) : readFileSync(file);
      state.update(`${file}\0${stats.mode}\0`).update(content);
    }
  };
  walk(folder);
  return state.digest("hex");
}

const write = (path: string, content: string) => ({ call: "write", input: { path, content } });
const bash = (command: string) => ({ call: "bash", input: { command } });
const turn: readonly Entry[] = [
  [write("src0/part0/new.ts", "export {};\n"), write("notes.md", "# Notes\n")],
  [bash("rm -rf src7 && mkdir -p build && echo object > build/out.o")],
  [bash("for f in src3/part1/*.ts; do echo '// seen' >> $f; done")],
  [bash("mv src1/part1 src1/moved && chmod +x src2/part2/*.ts")],
  [bash("ln -s src0 link && rm untracked.txt && printf 'bytes\\377\\n' > 'odd name'")],
  [bash("mv src9 src9-renamed"), bash("mkdir -p src9 && touch src9/empty")],
  [{ text: "Done." }],
];

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  process.stdout.write(`${what.padEnd(56)} ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s\n`);
  return result;
}

async function pawl(...args: string[]): Promise<void> {
  const env = { PATH: process.env["PATH"], HOME: root, PAWL_STORE: join(root, "store") };
  const child = spawn(process.execPath, [bin, ...args], { cwd: work, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`pawl ${args.join(" ")} ended with ${code}: ${said}`);
}

function same(what: string, is: string, was: string): void {
  if (is !== was) throw new Error(`${what} is not what it was`);
}

async function main(): Promise<void> {
  makeTree();
  const server = await startModelServer({ script: turn });
  const model = ["--yes", "--model", "openai-chat:scripted", "--base-url", server.baseUrl("chat")];
  try {
    const git = stateOf(join(work, ".git"));
    const first = stateOf(work);
    process.stdout.write(`${files} files\n`);
    await timed("a turn of ten edits and commands, the first snapshot in it", () => pawl("run", "change it", ...model));
    const last = stateOf(work);
    await timed("pawl diff --stat", () => pawl("diff", "--stat"));
    await timed("pawl undo", () => pawl("undo", "--yes"));
    same("the tree after undo", stateOf(work), first);
    await timed("pawl redo", () => pawl("redo", "--yes"));
    same("the tree after redo", stateOf(work), last);
    await timed("pawl undo, again", () => pawl("undo", "--yes"));
    same("the tree after the second undo", stateOf(work), first);
    same("the folder's own .git", stateOf(join(work, ".git")), git);
    const size = execFileSync("du", ["-sk", join(root, "store", "snapshots")], { encoding: "utf8" }).split("\t")[0];
    process.stdout.write(`${"snapshots on the disk".padEnd(56)} ${(Number(size) / 1024).toFixed(1).padStart(6)} MB\n`);
  } finally {
    await server.close();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
}
