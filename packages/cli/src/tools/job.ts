/**
 * A command that goes on in the background: what it said since one last looked, and how it is.
 *
 * Owns: one job, ours or one that a process which has died left behind. Does not own: which jobs there are (jobs), the command itself
 * (supervisor). What became of it is read from its folder, or comes from our supervisor; it is never guessed.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { isAlive } from "@pawl/core/node";
import type { CommandFolder, CommandRequest, ExitRecord } from "./command-folder.ts";
import { CommandOutput } from "./command-output.ts";
import { endNotes } from "./command-result.ts";
import { OutputReader } from "./output-reader.ts";
import { endGroup, hasMarkedMember, termGraceMs } from "./process-group.ts";
import { sandboxNote } from "./sandbox.ts";
import type { SecretMask } from "./secret-mask.ts";
import type { SpillFolder } from "./spill-folder.ts";
import type { Answer } from "./supervisor-link.ts";
import { visibleLine } from "./text.ts";

export type JobState =
  | { type: "running" }
  | { type: "ended"; record: ExitRecord & { ran: true }; rescued?: string | undefined }
  | { type: "refused"; why: string }
  /** Its supervisor died without a word: it may have ended in any way. */
  | { type: "lost" };

/** Of a job that is not ours, how often its folder is looked at. */
const pollMs = 100;

/** The same in every process: made from the folder's name, which is made from the call's key. */
export function jobId(folder: Pick<CommandFolder, "path">): string {
  return `job-${createHash("sha256").update(basename(folder.path)).digest("hex").slice(0, 8)}`;
}

export class Job {
  readonly id: string;
  readonly folder: CommandFolder;
  readonly command: string;
  readonly startedAt: number;
  state: JobState = { type: "running" };
  /** Everything that it said has been told. */
  told = false;
  readonly #mask: SecretMask;
  readonly #timeoutMs: number;
  readonly #confined: boolean;
  /** Our supervisor tells us how it is. */
  #ours: boolean;
  #read = 0;
  #kept: string | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(
    folder: CommandFolder,
    { command, timeoutMs, job }: CommandRequest,
    { whose, mask }: { whose: "ours" | "left behind"; mask: SecretMask },
  ) {
    this.#mask = mask;
    this.id = jobId(folder);
    this.folder = folder;
    this.command = command;
    this.startedAt = job?.startedAt ?? Date.now();
    this.#timeoutMs = timeoutMs;
    this.#confined = job?.confined ?? false;
    this.#ours = whose === "ours";
  }

  get ours(): boolean {
    return this.#ours;
  }

  /** Our supervisor has an answer. */
  answered(answer: Answer): void {
    if (answer.type === "ended") this.state = { type: "ended", record: answer.record, rescued: answer.rescued };
    else if (answer.type === "refused") this.state = answer;
    // From now on its folder says it, as to any other process.
    else this.#ours = false;
    this.changed();
  }

  changed(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Looks how it is, where nobody tells us. */
  async refresh(): Promise<void> {
    if (this.#ours || this.state.type !== "running") return;
    this.state = await stateOf(this.folder);
    // Nobody else will.
    if (this.state.type === "lost") await this.end();
  }

  /** Resolves when it has ended, or has said something new where that is enough, or when the time is over. */
  async wait(ms: number, until: "end" | "output", signal: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<"over">();
    const timer = setTimeout(() => over.resolve("over"), ms);
    const onAbort = () => over.resolve("over");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      for (;;) {
        const changed = this.#ours ? this.#changed.promise : new Promise<void>((next) => setTimeout(next, pollMs));
        await this.refresh();
        if (this.state.type !== "running") return;
        if (until === "output" && (await this.#size()) > this.#read) return;
        if ((await Promise.race([changed, over.promise])) === "over") return;
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Of a job that a dead process left: its group is ended, and whoever supervises it writes that down. */
  async end(): Promise<void> {
    const claim = await this.folder.readClaim();
    const pgid = await this.folder.readGroup();
    if (
      typeof claim === "object" &&
      claim.by === "supervisor" &&
      pgid !== undefined &&
      hasMarkedMember(pgid, claim.mark)
    )
      await endGroup(pgid, termGraceMs);
  }

  /** What it said since the last time, and how it is. */
  async report(spill: SpillFolder): Promise<string> {
    await this.refresh();
    const output = new CommandOutput(() => undefined, this.#mask);
    const missing = await this.#readOn(output);
    const whereabouts = async () => {
      if (missing !== undefined) return `some of it could not be kept: ${missing}`;
      try {
        this.#kept ??= await spill.keep(this.folder.output, this.id);
        return `what it says is in ${this.#kept} (look into it with read or grep)`;
      } catch (error) {
        return `it could not be saved: ${error instanceof Error ? error.message : error}`;
      }
    };
    const said = (await output.finish(whereabouts)).trimEnd();
    const told = [...(said === "" ? [] : [said]), ...this.#notes(said === "")].join("\n");
    return this.#confined ? told + sandboxNote(said) : told;
  }

  /** In one line, for a list. */
  summary(): string {
    return `${this.id}  ${this.#condition()}  ${visibleLine(this.command.slice(0, 200))}`;
  }

  #condition(): string {
    const { state } = this;
    switch (state.type) {
      case "running":
        return `running for ${Math.round((Date.now() - this.startedAt) / 1_000)} s`;
      case "refused":
        return "not started";
      case "lost":
        return "outcome unknown";
      case "ended": {
        const { exitCode, exitSignal } = state.record.end;
        const how = exitCode === null ? `ended by ${exitSignal ?? "an unseen exit"}` : `exit code ${exitCode}`;
        return this.told ? how : `${how}, with output to look at`;
      }
    }
  }

  #notes(silent: boolean): string[] {
    const { state } = this;
    switch (state.type) {
      case "running":
        return [`[${this.id} is ${this.#condition()}${silent ? "; no new output" : ""}]`];
      case "refused":
        return [`[${this.id} was not started: ${state.why}]`];
      case "lost":
        return [
          `[${this.id}: its supervisor died, and what became of it is not known. What it started has been ended where it could be found; ` +
            "look at what it would have changed before you start it again]",
        ];
      case "ended":
        return [
          `[${this.id} has ended]`,
          ...endNotes(state.record.end, {
            timeoutMs: this.#timeoutMs,
            confined: this.#confined,
            silent: silent && this.#read === 0,
          }),
        ];
    }
  }

  /** Gives why something is missing, if it is. */
  async #readOn(output: CommandOutput): Promise<string | undefined> {
    const { state } = this;
    if (this.told || state.type === "refused") return undefined;
    const reader = new OutputReader(this.folder.output, output, this.#read);
    if (state.type === "ended") {
      this.told = true;
      return await reader.finish(state.record.output, state.rescued);
    }
    const size = await this.#size(state.type === "running");
    if (size > this.#read) reader.grown(size);
    await reader.close();
    this.#read = Math.max(this.#read, size);
    return undefined;
  }

  /**
   * How much of the output can be told; where more may come, without the start of a character that is still being written, or of what may
   * become a secret.
   */
  async #size(more = true): Promise<number> {
    const file = await open(this.folder.output, "r").catch(() => undefined);
    if (file === undefined) return 0;
    try {
      const { size } = await file.stat();
      if (!more) return size;
      // From where the last look ended: what has been told is no part of a secret.
      const end = new Uint8Array(Math.min(Math.max(0, size - this.#read), 4 + this.#mask.reachBytes));
      await file.read(end, 0, end.length, size - end.length);
      const whole = end.subarray(0, end.length - openCharacter(end));
      return size - end.length + whole.length - this.#mask.heldBytes(whole);
    } finally {
      await file.close();
    }
  }
}

/** How many bytes at the end begin a UTF-8 character that is not whole. */
function openCharacter(end: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, end.length); back++) {
    const byte = end[end.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

async function stateOf(folder: CommandFolder): Promise<JobState> {
  // Asked before the record is looked for: whoever is dead by now has written what it ever will.
  const claim = await folder.readClaim();
  const lives = typeof claim === "object" && claim.by === "supervisor" && isAlive(claim.process) !== false;
  const record = await folder.readExit();
  if (record) return record.ran ? { type: "ended", record } : { type: "refused", why: record.why };
  if (typeof claim === "object" && claim.by === "recovery") return { type: "refused", why: "it was never started" };
  return lives ? { type: "running" } : { type: "lost" };
}
