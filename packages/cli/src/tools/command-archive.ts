/**
 * The folders of commands, one a call, for as long as somebody may ask what became of it.
 *
 * Owns: where they are, how long they stay, and since when none is missing. Does not own: what is in them. Invariants:
 * 1. A folder goes only after the archive's mark says that it may be gone: a missing folder is no proof for a call entered before.
 * 2. What stays is bounded, in number and age; outputs go sooner than records.
 *
 * The archive must be the one that the dead runtime used, on its machine: see `site`. One that is younger than the call says that it
 * does not know.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, open, readdir, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Site } from "@pawl/core";
import { archiveId } from "./archive-id.ts";
import { CommandFolder } from "./command-folder.ts";
import { endRunningCommands } from "./supervisor-link.ts";

const day = 24 * 60 * 60_000;
/** A session that nobody has gone on with for so long is told that the outcome is unknown. */
const keepMs = 7 * day;
/** Three small files each. */
const keepFolders = 500;
/** An output may be large, and is wanted by a recovery only. */
const keepOutputMs = day;
/** Longer than a command may take. */
const youngMs = 60 * 60_000;
/** A moment that no call is entered after. */
const never = "since-9999999999999";
/** File systems round the times of files down, some by this much. */
const stampMs = 2_000;
/** `since-<ms>`: no folder of a call entered after that moment has been removed. The latest counts. */
const markPattern = /^since-(\d+)$/;

export class CommandArchive {
  /** Whether another process can find it again. */
  readonly durable: boolean;
  #dir: string | undefined;
  #swept = false;
  /** The call whose result was handed over last: it may not be recorded yet. */
  #last: CommandFolder | undefined;

  /** Without `dir`, a fresh folder among the temporary files, for as long as the process lives. */
  constructor(dir: string | undefined) {
    this.durable = dir !== undefined;
    this.#dir = dir;
    if (dir !== undefined) mark(dir);
  }

  /** Which archive it is, and where in it the call is. Throws where the folder cannot be written. */
  site(key: string): Site {
    const dir = this.#open();
    return { id: archiveId(dir), where: join(dir, folderName(key)) };
  }

  /** The folder of a call, made. `key` is the call's idempotency key. */
  async open(key: string): Promise<CommandFolder> {
    const folder = new CommandFolder(join(this.#open(), folderName(key)));
    await mkdir(folder.path, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** The same for a recovery. Undefined: it is missing, and that proves nothing. */
  async find(key: string, enteredAt: number): Promise<CommandFolder | undefined> {
    const path = join(this.#open(), folderName(key));
    const there = await stat(path).then(
      () => true,
      () => false,
    );
    // The mark after the look, as a sweep writes it before the removal.
    if (!there && since(await readdir(this.#open())) >= enteredAt) return undefined;
    return this.open(key);
  }

  /** Every folder that is there. */
  async all(): Promise<CommandFolder[]> {
    const entries = await readdir(this.#open(), { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => new CommandFolder(join(this.#open(), name)));
  }

  /** The result of a call has been handed to the runtime. */
  async settled(folder: CommandFolder): Promise<void> {
    const recorded = this.#last;
    this.#last = folder;
    // The record stays, so that a call whose result was lost on its way to the log is still known to have run.
    if (recorded && this.durable) await unlink(recorded.output).catch(() => undefined);
    else if (recorded) void rm(recorded.path, { recursive: true, force: true }).catch(() => undefined);
    if (!this.durable || this.#swept) return;
    this.#swept = true;
    void sweep(this.#open(), Date.now()).catch(() => undefined);
  }

  #open(): string {
    this.#dir ??= passingFolder();
    return this.#dir;
  }
}

let passing: string | undefined;

/** For as long as the process lives. */
function passingFolder(): string {
  if (passing === undefined) {
    const dir = mkdtempSync(join(tmpdir(), "pawl-commands-"));
    process.once("exit", () => {
      endRunningCommands();
      try {
        rmSync(dir, { recursive: true, force: true });
      } catch {
        // A supervisor that still writes: the system clears its temporary files some day.
      }
    });
    passing = dir;
  }
  return mkdtempSync(join(passing, "tools-"));
}

/** At once, before any call can be entered. Where it fails, so does the first command, and says why. */
function mark(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    // A call may be entered within the same millisecond.
    if (!Number.isFinite(since(readdirSync(dir)))) writeFileSync(join(dir, `since-${Date.now() - 1}`), "");
  } catch {
    // Said by the first command.
  }
}

/**
 * In the folder `beside` a store that other machines use too: their commands left nothing here, so that a missing folder is
 * no proof for any call, and its outcome is unknown. Throws where the folder cannot be written.
 */
export function ofManyMachines(beside: string): void {
  const dir = join(beside, "commands");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!existsSync(join(dir, never))) writeFileSync(join(dir, never), "");
}

function since(names: string[]): number {
  const marks = names.flatMap((name) => markPattern.exec(name)?.[1] ?? []).map(Number);
  return marks.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...marks);
}

/** Removes what is too old or too much. Exported for its test. */
export async function sweep(dir: string, now: number): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true });
  const folders = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map(({ name }) => aged(new CommandFolder(join(dir, name)))),
  );
  folders.sort((a, b) => b.at - a.at);
  const surplus = Math.min(folders[keepFolders]?.at ?? 0, now - youngMs);
  const before = Math.max(now - keepMs, surplus);
  const old = folders.filter(({ at }) => at <= before);
  if (old.length > 0)
    await moveMark(
      dir,
      Math.ceil(before) + stampMs,
      entries.map(({ name }) => name),
    );
  for (const { folder, at } of folders) {
    if (at <= before && at > now - keepMs && (await isRunningJob(folder))) continue;
    if (at <= before) await rm(folder.path, { recursive: true, force: true });
    else if (at <= now - keepOutputMs && (await folder.readExit())) await unlink(folder.output).catch(() => undefined);
  }
}

/** A job may run for longer than the others of its age, and somebody looks at it. */
async function isRunningJob(folder: CommandFolder): Promise<boolean> {
  return (await folder.readRequest())?.job !== undefined && (await folder.readExit()) === undefined;
}

/** When it was entered, or a moment later. */
async function aged(folder: CommandFolder): Promise<{ folder: CommandFolder; at: number }> {
  const { mtimeMs } = await stat(folder.request).catch(() => stat(folder.path));
  return { folder, at: mtimeMs };
}

async function moveMark(dir: string, to: number, names: string[]): Promise<void> {
  if (to <= since(names)) return;
  await writeFile(join(dir, `since-${to}`), "");
  const handle = await open(dir, "r");
  await handle.sync().catch(() => undefined);
  await handle.close();
  for (const name of names) {
    if (Number(markPattern.exec(name)?.[1] ?? to) < to) await unlink(join(dir, name)).catch(() => undefined);
  }
}

/** Call ids are fit for a file name; keys of other hosts may be anything. */
function folderName(key: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(key) && !key.startsWith("since-")
    ? key
    : createHash("sha256").update(key).digest("hex").slice(0, 32);
}
