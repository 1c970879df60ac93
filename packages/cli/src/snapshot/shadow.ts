/**
 * The shadow repository of a folder: snapshots of its files, beside the sessions, in git's own format.
 *
 * Owns: objects, index and references of its own. Does not own: the folder, and the person's repository, which are only
 * read here. Invariants:
 * 1. Each snapshot works on a copy of the index, which takes the index's place by one rename: processes need no lock, and one
 *    that is killed leaves nothing that stands in another's way.
 * 2. What a reference names is complete and on the disk before its name is given to anybody.
 * 3. Contents are kept as they are: no filter, no line ending, no encoding of the folder's attributes applies.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PawlError } from "@pawl/core";
import { foundAt } from "./found.ts";
import { bytesOf, type GitPlace, git, nulEnded, pathsOf } from "./git.ts";
import { type LeftOut, type Listing, type Modes, newBytes, parseListing, rememberModes, sortOut } from "./listing.ts";
import { checkFolder, keptThoughIgnored, type Surroundings, surroundingsOf } from "./surroundings.ts";

/** The state of a folder. */
export interface Kept {
  tree: string;
  modes: Modes;
  leftOut: LeftOut[];
}

/** More new files than this go into one pack instead of a file each: the first snapshot of a large tree. */
const bulk = 1_000;
/** So many files are a second or so: whoever runs out of time loses no more. */
const batch = 5_000;
/** Repositories inside of repositories inside of ... */
const nestedRounds = 10;
/** Left behind by whoever was killed so long ago that it cannot be at work. */
const staleMs = 60 * 60_000;
/** The attributes of the folder must not change what is kept. */
const attributes = "* -text -ident !eol !filter !working-tree-encoding !crlf\n";

interface Marker {
  folder: string;
  plain: Modes["plain"];
}

export class Shadow {
  readonly dir: string;
  readonly folder: string;
  readonly key: string;
  readonly #plain: Modes["plain"];

  private constructor(dir: string, { folder, plain }: Marker) {
    this.dir = dir;
    this.folder = folder;
    this.key = keyOf(folder);
    this.#plain = plain;
  }

  /** Of a folder by its real path; makes the repository where there is none. `base`: where shadows are kept. */
  static async of(base: string, folder: string): Promise<Shadow> {
    checkFolder(folder);
    const dir = join(base, keyOf(folder));
    const known = await Shadow.at(base, keyOf(folder));
    if (known) return known;
    // Whole before it has its name: another process may be making it, too.
    const made = `${dir}.${randomUUID()}.tmp`;
    try {
      const marker = await make(made, folder);
      await rename(made, dir).catch(async (error: unknown) => {
        // Somebody else was first; or one is there that has lost what says so, and is made good.
        if (!existsSync(dir)) throw error;
        if (!existsSync(join(dir, "pawl.json"))) await make(dir, folder);
      });
      return (await Shadow.at(base, keyOf(folder))) ?? new Shadow(dir, marker);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
  }

  /** One that is there; undefined where none is. */
  static async at(base: string, key: string): Promise<Shadow | undefined> {
    const dir = join(base, key);
    const marker = await readFile(join(dir, "pawl.json"), "utf8").catch(() => undefined);
    return marker === undefined ? undefined : new Shadow(dir, JSON.parse(marker) as Marker);
  }

  git(args: readonly string[], input?: string | Buffer, signal?: AbortSignal): Promise<Buffer> {
    const run = { ...(input === undefined ? {} : { input }), ...(signal ? { signal } : {}) };
    return git({ cwd: this.dir, dir: this.dir }, args, run);
  }

  get place(): GitPlace {
    return { cwd: this.dir, dir: this.dir };
  }

  /** The folder's own ignore rules and what else git knows of it. */
  async surroundings(signal?: AbortSignal): Promise<Surroundings> {
    // Where the store lies inside of the folder, it is no part of it.
    return surroundingsOf(this.folder, dirname(dirname(this.dir)), signal);
  }

  /** Keeps the files as they are now. Nothing names what is kept yet: see {@link commit}. */
  async keep(signal?: AbortSignal): Promise<Kept> {
    const around = await this.surroundings(signal);
    const index = join(this.dir, `index-${keyOf(around.root).slice(0, 8)}`);
    await this.#sweep();
    try {
      return await this.#keepWith(index, around, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof PawlError) throw error;
      // A file that changed its kind meanwhile, an index that lies or names objects that are gone: all anew, once.
      await rm(index, { force: true });
      await rm(`${index}.modes`, { force: true });
      return this.#keepWith(index, around, signal);
    }
  }

  /** Gives what is kept a reference; resolves with its id once that is durable. */
  async commit(kept: Kept, name: string, signal?: AbortSignal): Promise<string> {
    const about = { leftOut: kept.leftOut, plain: kept.modes.plain, odd: [...kept.modes.odd] };
    const made = await this.git(["commit-tree", kept.tree], JSON.stringify(about), signal);
    const id = made.toString("utf8").trim();
    await this.git(["update-ref", `refs/snapshots/${name}`, id], undefined, signal);
    return id;
  }

  /** Whether `commit` gave it an id. */
  has(id: string): Promise<boolean> {
    return this.git(["cat-file", "-e", `${id}^{commit}`]).then(
      () => true,
      () => false,
    );
  }

  /** What `commit` gave an id. Fails with CORRUPT where it is gone. */
  async read(id: string): Promise<Kept> {
    const text = await this.git(["cat-file", "commit", id]).catch((cause: unknown) => {
      const what = `the snapshot ${id} of ${this.folder} is not in ${this.dir}: it was deleted, or the folder is damaged`;
      throw new PawlError("CORRUPT", what, { cause });
    });
    const [head = "", ...message] = text.toString("utf8").split("\n\n");
    const { leftOut, plain, odd } = JSON.parse(message.join("\n\n")) as {
      leftOut: LeftOut[];
      plain: Modes["plain"];
      odd: [string, number][];
    };
    return { tree: /^tree (\w+)/.exec(head)?.[1] ?? "", leftOut, modes: { plain, odd: new Map(odd) } };
  }

  async #keepWith(index: string, around: Surroundings, signal?: AbortSignal): Promise<Kept> {
    const copy = `${index}.${randomUUID()}.tmp`;
    try {
      await copyIndex(index, copy);
      const place = { cwd: around.root, dir: this.dir, workTree: around.root, index: copy };
      const { leftOut, modes } = await this.#update(place, around, index, signal);
      const tree = await treeOf(place, around.prefix, signal);
      // Nothing was there and nothing came: git writes no index.
      if (existsSync(copy)) await rename(copy, index);
      return { tree, leftOut, modes };
    } catch (error) {
      // Out of time: what was looked at so far need not be looked at again.
      if (signal?.aborted && existsSync(copy)) await rename(copy, index);
      throw error;
    } finally {
      await Promise.all([copy, `${copy}.lock`].map((path) => rm(path, { force: true })));
    }
  }

  /** Brings the index up to what is in the folder. */
  async #update(
    place: GitPlace,
    around: Surroundings,
    index: string,
    signal?: AbortSignal,
  ): Promise<Pick<Kept, "leftOut" | "modes">> {
    const before = await this.#modes(index);
    const run = (args: string[], input?: Buffer) =>
      git(place, args, { ...(input ? { input } : {}), ...(signal ? { signal } : {}) });
    const within = around.prefix === "" ? [] : ["--", bytesOf(around.prefix).toString("utf8")];
    // Not what git calls modified: a file whose permissions alone have changed is the same to it.
    const looks = [
      ["diff-files", "-z", "--name-status", "--no-renames", ...within],
      ["ls-files", "-z", "-o", ...around.excludes, ...within],
    ];
    const kept = keptThoughIgnored(around, signal);
    kept.catch(() => {});
    let listing: Listing = { changed: [], gone: [], nested: [] };
    const seeded = new Set<string>();
    for (let round = 0; round < nestedRounds; round += 1) {
      const [known = [], unknown = []] = await Promise.all(looks.map(async (look) => pathsOf(await run(look))));
      listing = parseListing(known, unknown);
      const unseeded = listing.nested.filter((path) => !seeded.has(path));
      if (unseeded.length === 0) break;
      // Git looks into a folder that it knows a file of, also where that is a repository of its own.
      const seeds = unseeded.map((path) => `100644 ${emptyBlob}\t${path}.pawl-seed\0`).join("");
      await run(["update-index", "-z", "--index-info"], bytesOf(seeds));
      for (const path of unseeded) seeded.add(path);
    }
    const known = new Set([...listing.changed, ...listing.gone]);
    const changed = [...listing.changed, ...(await kept).filter((path) => !known.has(path))];
    const found = await foundAt(around.root, changed, signal);
    const sorted = sortOut({ ...listing, changed }, found);
    if (sorted.bytes > newBytes) throw tooMuch(this.folder, sorted.bytes);
    if (sorted.remove.length > 0) {
      const lines = sorted.remove.map((path) => `0 ${"0".repeat(40)}\t${path}\0`).join("");
      await run(["update-index", "-z", "--index-info"], bytesOf(lines));
    }
    const cut = (path: string) => path.slice(around.prefix.length);
    const leftOut = sorted.leftOut.map(({ path, why }) => ({ path: cut(path), why }));
    if (sorted.add.length + sorted.remove.length === 0) return { leftOut, modes: before };
    const exact = new Map([...sorted.modes].map(([path, mode]) => [cut(path), mode] as const));
    const modes = rememberModes(before, { ...sorted, remove: sorted.remove.map(cut), modes: exact });
    // Before the index knows the files: what it knows is not looked at again.
    await writeWhole(`${index}.modes`, JSON.stringify([...modes.odd]));
    const pack = sorted.add.length > bulk ? ["-c", "core.bigFileThreshold=1", "-c", "core.compression=1"] : [];
    for (let at = 0; at < sorted.add.length; at += batch) {
      const paths = nulEnded(sorted.add.slice(at, at + batch));
      await run([...pack, "update-index", "-z", "--add", "--replace", "--remove", "--stdin"], paths);
    }
    return { leftOut, modes };
  }

  async #modes(index: string): Promise<Modes> {
    const text = await readFile(`${index}.modes`, "utf8").catch(() => "[]");
    return { plain: this.#plain, odd: new Map(JSON.parse(text) as [string, number][]) };
  }

  /** What somebody who was killed has left. */
  async #sweep(): Promise<void> {
    for (const name of await readdir(this.dir)) {
      if (!/\.tmp(\.lock)?$|^rules-/.test(name)) continue;
      const path = join(this.dir, name);
      const { ctimeMs = Date.now() } = (await stat(path).catch(() => undefined)) ?? {};
      if (Date.now() - ctimeMs > staleMs) await rm(path, { force: true, recursive: true });
    }
  }
}

async function make(dir: string, folder: string): Promise<Marker> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await git({ cwd: dir }, ["init", "--quiet", "--bare", "--template=", dir]);
  await mkdir(join(dir, "info"), { recursive: true });
  await writeFile(join(dir, "info", "attributes"), attributes);
  const umask = process.umask();
  const marker: Marker = { folder, plain: [0o666 & ~umask, 0o777 & ~umask] };
  await writeWhole(join(dir, "pawl.json"), JSON.stringify(marker));
  return marker;
}

function tooMuch(folder: string, bytes: number): PawlError {
  const giga = (count: number) => (count / 1024 ** 3).toFixed(1);
  const what = `${folder} has ${giga(bytes)} GB of new files, and a snapshot takes in ${giga(newBytes)} GB at most`;
  return new PawlError("NOT_SUPPORTED", `${what}; name what need not be kept in .gitignore`);
}

/** The hash of no bytes, which every repository knows. */
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/**
 * With the time of the original: git believes what an index says of a file only where the file is older than the index. One
 * that is said to be newer than it is would hide a change of the second in which it was written.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const known = await stat(from).catch(() => undefined);
  if (!known) return;
  await copyFile(from, to);
  const second = Math.floor(known.mtimeMs / 1000);
  await utimes(to, second, second);
}

async function treeOf(place: GitPlace, prefix: string, signal?: AbortSignal): Promise<string> {
  const run = signal ? { signal } : {};
  const write = async (args: string[]) => (await git(place, args, run)).toString("utf8").trim();
  if (prefix === "") return write(["write-tree"]);
  // A folder of which nothing is kept has no tree in the index.
  const asked = ["ls-files", "-z", "--", bytesOf(prefix).toString("utf8")];
  if ((await git(place, asked, run)).length === 0)
    return (await git(place, ["mktree"], { ...run, input: "" })).toString("utf8").trim();
  return write(["write-tree", `--prefix=${bytesOf(prefix).toString("utf8")}`]);
}

function keyOf(folder: string): string {
  return createHash("sha256").update(folder).digest("hex").slice(0, 24);
}

/** A reader finds the old text or the new one. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
