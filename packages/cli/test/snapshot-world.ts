/** A folder with a repository of its own, its shadow, and ways to look at every byte of both. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
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
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { planFor, restore } from "../src/snapshot/restore.ts";
import { Shadow } from "../src/snapshot/shadow.ts";

export class SnapshotWorld {
  readonly root: string;
  readonly work: string;
  readonly base: string;
  #commits = 0;

  constructor(t: TestContext) {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "pawl-snapshot-")));
    this.work = join(this.root, "work");
    this.base = join(this.root, "store", "snapshots");
    mkdirSync(this.work);
    t.after(() => rmSync(this.root, { recursive: true, force: true, maxRetries: 3 }));
  }

  /** Git as the person uses it. */
  git(...args: string[]): string {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    return execFileSync("git", [...identity, ...args], {
      cwd: this.work,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  }

  write(path: string, content: string | Buffer, mode?: number): void {
    const file = join(this.work, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, mode === undefined ? {} : { mode });
  }

  shadow(): Promise<Shadow> {
    return Shadow.of(this.base, this.work);
  }

  async keep(): Promise<string> {
    const shadow = await this.shadow();
    this.#commits += 1;
    return shadow.commit(await shadow.keep(), `s/${this.#commits}`);
  }

  /** What could not be done. */
  async goTo(commit: string): Promise<string[]> {
    const shadow = await this.shadow();
    const plan = await planFor(shadow, await shadow.keep(), await shadow.read(commit));
    return (await restore(shadow, plan)).map(({ path, why }) => `${path}: ${why}`);
  }

  /** Every file and link below a folder (default: the work folder without repositories), with its permissions and bytes. */
  files(folder = this.work, skipGit = true): { [path: string]: string } {
    const found: { [path: string]: string } = {};
    const walk = (dir: Buffer, prefix: string) => {
      for (const name of readdirSync(dir, { encoding: "buffer" })) {
        if (skipGit && name.toString() === ".git") continue;
        const path = Buffer.concat([dir, Buffer.from("/"), name]);
        const shown = prefix + name.toString("latin1");
        const stats = lstatSync(path);
        if (stats.isDirectory()) walk(path, `${shown}/`);
        else if (stats.isSymbolicLink()) found[shown] = `link ${readlinkSync(path, { encoding: "latin1" })}`;
        else if (stats.isFile())
          found[shown] =
            `${(stats.mode & 0o7777).toString(8)} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
        else found[shown] = "other";
      }
    };
    walk(Buffer.from(folder), "");
    return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Of the person's repository. */
  ownGit(): { [path: string]: string } {
    return this.files(join(this.work, ".git"), false);
  }
}
