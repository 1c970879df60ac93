/**
 * The jobs of this process, and those of the same workspace that a process which died has left running.
 *
 * Owns: which there are, how many may run, starting and ending them. Invariants:
 * 1. A job's id says that it was started, or that nobody will ever know better: it is given after the supervisor's word.
 * 2. A job is of the machine that started it: on another one, which may share the folder, nobody can tell whether it runs, or end it.
 * 3. A job ends with this process, unless that dies: then it has half an hour, and another process finds it by its id.
 */
import { hostname } from "node:os";
import { type Holder, PawlError } from "@pawl/core";
import { isAlive } from "@pawl/core/node";
import type { CommandArchive } from "./command-archive.ts";
import type { CommandFolder, CommandRequest } from "./command-folder.ts";
import { Job, jobId } from "./job.ts";
import type { SecretMask } from "./secret-mask.ts";
import { supervised } from "./supervisor-link.ts";

/** Servers, watchers and a long build or two; more is a loop that starts jobs. */
const mostRunning = 8;
/** Of those that have ended, whose output can still be asked for. */
const mostKept = 50;
/** A working day: nobody means a server to run for longer than that. */
export const jobMs = 12 * 60 * 60_000;
const orphanMs = 30 * 60_000;
/** Of one job on disk: beyond it only the end is kept. */
const outputBytes = 32_000_000;

export interface JobOrder {
  folder: CommandFolder;
  command: string;
  /** What stands before it; empty: nothing. */
  wrap: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
}

export class Jobs {
  readonly #archive: CommandArchive;
  readonly #cwd: string;
  readonly #mask: SecretMask;
  readonly #jobs = new Map<string, { job: Job; kill: AbortController | undefined }>();

  /** `mask`: what must not be told of what they say. */
  constructor(archive: CommandArchive, cwd: string, mask: SecretMask) {
    this.#mask = mask;
    this.#archive = archive;
    this.#cwd = cwd;
  }

  /** Throws where no more may run, and where it could not be started. */
  async start({ folder, ...order }: JobOrder, request: CommandRequest, signal: AbortSignal): Promise<Job> {
    const running = [...this.#jobs.values()].filter(({ job }) => job.state.type === "running");
    if (running.length >= mostRunning) {
      throw new PawlError(
        "INVALID_INPUT",
        `${running.length} jobs are running, no more are allowed: end one with job_kill (${running.map(({ job }) => job.id).join(", ")})`,
      );
    }
    const kill = new AbortController();
    const job = new Job(folder, request, { whose: "ours", mask: this.#mask });
    this.#jobs.set(job.id, { job, kill });
    this.#forget();
    const { promise: started, resolve: onStarted } = Promise.withResolvers<void>();
    const watch = { signal: kill.signal, onGrown: () => job.changed(), onStarted, background: true };
    const over = supervised({ ...order, folder: folder.path, outputBytes, orphanMs }, watch)
      .catch((error: unknown) => ({
        type: "refused" as const,
        why: error instanceof Error ? error.message : String(error),
      }))
      .then((answer) => job.answered(answer));
    const onAbort = () => kill.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    await Promise.race([started, over]);
    signal.removeEventListener("abort", onAbort);
    signal.throwIfAborted();
    if (job.state.type === "refused") throw new Error(job.state.why);
    return job;
  }

  /** Throws INVALID_INPUT where there is none of that id. */
  async find(id: string): Promise<Job> {
    const ours = this.#jobs.get(id);
    if (ours) return ours.job;
    for (const folder of await this.#archive.all()) {
      if (jobId(folder) !== id) continue;
      const request = await folder.readRequest();
      if (request?.job === undefined) break;
      const { by } = request.job;
      if (by && by.host !== hostname()) throw elsewhere(id, by.host);
      return this.#adopt(new Job(folder, request, { whose: "left behind", mask: this.#mask }));
    }
    const known = (await this.list()).map((job) => job.id);
    throw new PawlError(
      "INVALID_INPUT",
      `there is no job ${JSON.stringify(id.slice(0, 100))}. ${known.length === 0 ? "There are none" : `Jobs: ${known.join(", ")}`}; a job stays on the machine that started it, this is ${hostname()}`,
    );
  }

  /** Ours, and those that still run here though their process has died. Where that cannot be told (macOS), those of others, too. */
  async list(): Promise<Job[]> {
    for (const folder of await this.#archive.all()) {
      if (this.#jobs.has(jobId(folder))) continue;
      const request = await folder.readRequest();
      if (request?.job === undefined || request.cwd !== this.#cwd || isAnothers(request.job.by)) continue;
      const job = new Job(folder, request, { whose: "left behind", mask: this.#mask });
      await job.refresh();
      if (job.state.type === "running") this.#adopt(job);
    }
    const all = [...this.#jobs.values()].map(({ job }) => job);
    await Promise.all(all.map((job) => job.refresh()));
    return all;
  }

  /** Told to end; that it has ended is to be waited for. */
  async kill(job: Job): Promise<void> {
    this.#jobs.get(job.id)?.kill?.abort();
    if (!job.ours) await job.end();
  }

  #adopt(job: Job): Job {
    this.#jobs.set(job.id, { job, kill: undefined });
    return job;
  }

  #forget(): void {
    const ended = [...this.#jobs.values()].filter(({ job }) => job.state.type !== "running");
    for (const { job } of ended.slice(0, Math.max(0, ended.length - mostKept))) this.#jobs.delete(job.id);
  }
}

/** Another process lives, or may live on another machine, that it belongs to: what it runs is not ours to end. */
function isAnothers(by: Holder | undefined): boolean {
  return by !== undefined && (by.host !== hostname() || (by.pid !== process.pid && isAlive(by) === true));
}

function elsewhere(id: string, host: string): PawlError {
  const what = `${id} was started on ${host}, this is ${hostname()}: what became of it can be seen, and it can be ended, only there`;
  return new PawlError("INVALID_INPUT", what);
}
