/**
 * One folder on the real disk and the real `pawl` in it: processes with pids, sockets, files.
 *
 * Whatever is started here, and whatever that starts in turn (supervisor, commands), carries the folder's name in its PATH:
 * so it is found again in the system's list, also where it has left its parent.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Runtime } from "@pawl/core";
import { nodeEffects, openRuntime, thisHolder } from "@pawl/core/node";

const bin = fileURLToPath(new URL("../../cli/bin/pawl.js", import.meta.url));

/** No command here takes a tenth of it on a busy machine: what is alive after so long would have stayed. */
const lingerMs = 30_000;
const pollMs = 100;
/** And no run: one that lasts longer hangs. Long, since a machine with other work gives a polite process little. */
const hangMs = 300_000;

/** Where a round is broken off, its processes and its folder go with it. */
const running = new Set<ChildProcess>();
const open = new Set<string>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const root of open) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: string[];
  stderr: string;
  ms: number;
}

/** When a process is killed: so long after its start, or so long after a line of its output. */
export type Moment = { afterMs: number; line?: number };

export class KillWorld {
  readonly root: string;
  readonly work: string;
  /** As `pawl --store` takes it. */
  readonly store: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  /** `url` of a database that holds the sessions; default: a folder here. */
  constructor(root: string, cache: string, url?: string) {
    open.add(root);
    this.root = root;
    this.work = join(root, "work");
    this.#folder = join(root, "store");
    this.store = url ?? this.#folder;
    for (const name of ["work", "home", "tmp"]) mkdirSync(join(root, name));
    writeFileSync(join(this.work, "notes.txt"), "A line of notes, as long as such lines are.\n".repeat(250));
    const PATH = `${process.env["PATH"]}:${root}`;
    // Compiled code is kept in between, that of worker threads too: a third of what a process costs here.
    const caches = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: cache };
    this.#env = { PATH, HOME: join(root, "home"), TMPDIR: join(root, "tmp"), ...caches };
  }

  /** The sessions as another process sees them. */
  async open(): Promise<Runtime> {
    if (this.store === this.#folder) return openRuntime({ dir: this.store });
    const { postgresStore } = await import("@pawl/postgres");
    return { store: await postgresStore({ url: this.store }), effects: nodeEffects(), holder: thisHolder() };
  }

  /** The folder is its owner's now, to be kept or removed. */
  leave(): void {
    open.delete(this.root);
  }

  /** Runs `pawl` to its end, or kills it at `moment`. Rejects where it hangs. `onLine` hears of each line as it comes. */
  async pawl(args: readonly string[], moment?: Moment, onLine?: (count: number) => void): Promise<Finished> {
    const began = performance.now();
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: this.work,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    const timers: NodeJS.Timeout[] = [];
    const later = (ms: number, what: () => void) => timers.push(setTimeout(what, ms));
    const kill = () => child.kill("SIGKILL");
    let hangs = false;
    later(hangMs, () => {
      hangs = true;
      kill();
    });
    if (moment && moment.line === undefined) later(moment.afterMs, kill);
    const finished = await gather(child, (count) => {
      onLine?.(count);
      if (count === moment?.line) later(moment.afterMs, kill);
    });
    running.delete(child);
    for (const timer of timers) clearTimeout(timer);
    if (hangs) throw new Error(`pawl ${args[0]} was still there after ${hangMs} ms\n${finished.stderr}`);
    return { ...finished, ms: performance.now() - began };
  }

  /** The processes of this folder that outlive everything; they are ended. */
  async survivors(): Promise<string[]> {
    const until = performance.now() + lingerMs;
    let alive = this.#alive();
    while (alive.length > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      alive = this.#alive();
    }
    for (const { pid } of alive) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself in this moment.
      }
    }
    return alive.map(({ pid, words }) => `${pid}: ${words}`);
  }

  #alive(): { pid: number; words: string }[] {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        // The dead that nobody has collected have no environment left.
        const environment = readFileSync(`/proc/${name}/environ`, "utf8");
        if (!environment.includes(this.root)) return [];
        return [{ pid: Number(name), words: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ") }];
      } catch {
        return [];
      }
    });
  }

  /** The words that commands have left in the counter file, one for each time one ran. */
  counted(): string[] {
    try {
      return readFileSync(join(this.work, "count.txt"), "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  /** Files where none should be: temporary ones, and what an unfinished replacement left in the workspace. */
  litter(): string[] {
    // The private /tmp of commands that a killed process has left: one of them may still be using it.
    const temporary = readdirSync(join(this.root, "tmp")).filter((name) => !name.startsWith("pawl-tmp-"));
    const known = /^(notes|count|out-\d+)\.txt$/;
    const stray = readdirSync(this.work).filter((name) => !known.test(name));
    const kept = (existsSync(this.#folder) ? readdirSync(this.#folder) : []).filter(
      (name) => !/^(pawl\.db(-wal|-shm)?|commands|spill|blobs|snapshots)$/.test(name),
    );
    return [
      ...temporary.map((name) => `tmp/${name}`),
      ...stray.map((name) => `work/${name}`),
      ...kept.map((name) => `store/${name}`),
    ];
  }
}

async function gather(child: ChildProcess, onLine: (count: number) => void): Promise<Omit<Finished, "ms">> {
  const { promise, resolve, reject } = Promise.withResolvers<Omit<Finished, "ms">>();
  const lines: string[] = [];
  let rest = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    const [head = "", ...more] = (rest + chunk).split("\n");
    rest = head;
    for (const next of more) {
      lines.push(rest);
      rest = next;
      onLine(lines.length);
    }
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  child.once("error", reject);
  child.once("close", (code, signal) => resolve({ code, signal, lines, stderr }));
  return promise;
}
