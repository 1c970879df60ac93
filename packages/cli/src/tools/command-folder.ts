/**
 * The files of one command: who may start it, what it said, how it ended.
 *
 * Owns: names, formats, durability. Does not own: processes, when folders go (archive). Invariants:
 * 1. The claim is created exclusively, once, and flushed. Whoever created it has the word: a supervisor may start the
 *    command; a recovery has proved that nobody ever will.
 * 2. The exit record appears whole or not at all, is flushed, and comes after the last byte of the output.
 *
 * The supervisor loads this too: it imports nothing but Node.
 */
import { writeFileSync } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Holder } from "@pawl/core";
import type { Member } from "./process-group.ts";

/** `mark` is in the environment of the command and all that it starts. */
export type Claim = { by: "supervisor"; process: Holder; mark: string } | { by: "recovery" };

/** `killed`: a background job that was told to end. `orphaned`: one whose runtime had been dead for a while. */
export type StopReason = "aborted" | "deadline" | "exit" | "killed" | "orphaned";

/** What a person who looks is told of a command, and a later process of a job. */
export interface CommandRequest {
  command: string;
  cwd: string;
  timeoutMs: number;
  /** It runs in the background. `by`: whose it is while that process lives; absent in what older versions wrote. */
  job?: { startedAt: number; confined: boolean; by?: Holder };
}

/** How a command ended. */
export interface CommandEnd {
  /** Of the shell; null if a signal ended it, or if it outlived KILL. */
  exitCode: number | null;
  exitSignal: NodeJS.Signals | null;
  /** Why it was told to end, if it was. */
  stopped?: StopReason;
  /** Live processes of the group: in the background after an exit, survivors after KILL. */
  group: Member[];
  /** Live processes that the command started and that have left its group. */
  left: Member[];
}

/** Bytes said in all, and what the output file has of them: the first `head`, then the last `tail`. */
export interface OutputSize {
  bytes: number;
  head: number;
  tail: number;
  /** Why there is less on disk than there should be. */
  error?: string;
}

export type ExitRecord =
  | { ran: false; why: string }
  | { ran: true; end: CommandEnd; output: OutputSize; startedAt: number; endedAt: number };

export class CommandFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get output(): string {
    return join(this.path, "output");
  }

  get request(): string {
    return join(this.path, "request.json");
  }

  get exit(): string {
    return join(this.path, "exit.json");
  }

  /** True: ours, and durably. False: somebody else's, for ever. Throws where the folder cannot be written. */
  async claim(claim: Claim): Promise<boolean> {
    let file: FileHandle;
    try {
      file = await open(this.#claim, "wx", 0o600);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
      throw error;
    }
    try {
      await file.writeFile(JSON.stringify(claim));
      // The folder's own name must survive a power cut too, or its absence would be taken for a proof.
      await Promise.all([file.sync(), flush(this.path), flush(dirname(this.path))]);
    } finally {
      await file.close();
    }
    return true;
  }

  /** `unfinished`: created, and its content is not there yet, or never will be. */
  async readClaim(): Promise<Claim | "unfinished"> {
    const claim = (await readJson(this.#claim)) as Claim | undefined;
    return claim?.by === "recovery" || claim?.by === "supervisor" ? claim : "unfinished";
  }

  /** At once, so that a group hardly ever is without a name. Not flushed: after a power cut no group is left to end. */
  writeGroup(pgid: number): void {
    writeFileSync(this.#group, String(pgid), { mode: 0o600 });
  }

  async readGroup(): Promise<number | undefined> {
    const pgid = await readJson(this.#group);
    return typeof pgid === "number" ? pgid : undefined;
  }

  /** For a record that is the only witness: what it says of the output is to be true after a power cut as well. */
  async flushOutput(): Promise<void> {
    await flush(this.output);
  }

  async writeExit(record: ExitRecord): Promise<void> {
    const temporary = `${this.exit}.tmp`;
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.exit);
    await flush(this.path);
  }

  async readExit(): Promise<ExitRecord | undefined> {
    const record = (await readJson(this.exit)) as ExitRecord | undefined;
    return typeof record?.ran === "boolean" ? record : undefined;
  }

  /** For whoever looks; no proof depends on it. Without the environment: that may hold secrets. */
  async describe(request: CommandRequest): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await writeFile(this.request, JSON.stringify({ ...request, runtime: process.pid }), { mode: 0o600 });
  }

  async readRequest(): Promise<CommandRequest | undefined> {
    const request = (await readJson(this.request)) as CommandRequest | undefined;
    return typeof request?.command === "string" ? request : undefined;
  }

  get #claim(): string {
    return join(this.path, "claim");
  }

  get #group(): string {
    return join(this.path, "group");
  }
}

/** Some file systems cannot flush a folder, and an output may not be there: they are as they are. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** Undefined where it is missing or cut. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}
