/**
 * A queue of posts: later, on a schedule, or at once through a pooler.
 *
 * Owns: the job's way into the mailbox, and what becomes of one that does not get there. Does not own: the turn, its
 * retries, who drives (core). Invariants:
 * 1. A job is done when the store has accepted its post. A process that dies in between leaves the job, and the post that
 *    it makes when it is delivered again is a duplicate by its id.
 * 2. A queue wakes; work is what the store says. A job that is lost, late or doubled makes no turn that the mailbox lacks.
 */
import { createSession, isPawlError, type Part, type Post, type Runtime, Session, type SessionFacts } from "@pawl/core";
import type { Job, JobResult, PgBoss, QueueOptions, SendOptions } from "pg-boss";
import { fateOf } from "./fate.ts";
import { jobOf, type PostJob, postOf, type QueuedPost } from "./post-job.ts";

export interface PostQueueOptions {
  /** Started. Its errors are its owner's: `boss.on("error", ...)`. */
  boss: PgBoss;
  runtime: Runtime;
  /** Of the queue; default `pawl-posts`. Beside it are `NAME-wake` and `NAME-dead`. */
  name?: string;
  /** Over the defaults of {@link patience}. */
  queue?: QueueOptions;
  /** Hears of each post that was not accepted, and what becomes of it. */
  onError?(error: unknown, job: { id: string; data: unknown; fate: "retry" | "dead-letter" }): void;
}

/** In seconds from now, or a moment; default now. The rest is pg-boss's. */
export type SendWhen = { after?: number | Date } & Omit<SendOptions, "startAfter" | "deadLetter">;

export interface Schedule {
  /** Tells schedules of one queue apart: scheduling again under it replaces. */
  key: string;
  /** Cron with five or six fields, or a recurrence rule of RFC 5545. */
  at: string;
  /** IANA name; default UTC. */
  timezone?: string;
  /** Every time the same session; absent: a new one each time. */
  session?: string;
  /** Of the sessions that are made. */
  facts?: SessionFacts;
  input: string | readonly Part[];
}

/**
 * A post takes milliseconds: one that is not done after a minute has lost its process. A store that is away for an hour costs
 * no input; after that it is among the dead letters, from where `boss.redrive` brings it back.
 */
export const patience = {
  expireInSeconds: 60,
  retryLimit: 70,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
} satisfies QueueOptions;

export interface PostQueue {
  readonly name: string;
  /** Where jobs go that cannot be posted: their `sourceOutput` has the error's code and message. */
  readonly deadLetters: string;
  /**
   * Posts to a session, now or later. Resolves with the job's id; null where pg-boss let it go, as its options say (a
   * `singletonKey`). With `db` of your own transaction it is sent when that commits. The post's `id` makes it idempotent across sends, too. Fails with
   * INVALID_INPUT for a post whose form no store would accept.
   */
  send(session: string, post: QueuedPost, when?: SendWhen): Promise<string | null>;
  /** Posts an input again and again: each time once, whoever is delivered what, and how often. */
  schedule(schedule: Schedule): Promise<void>;
  unschedule(key: string): Promise<void>;
  /** Says that something was posted: for a worker of any process that listens to this queue. Many are one. */
  nudge(): Promise<void>;
  /**
   * Takes jobs here, until the end that it resolves with. `pollSeconds`: how often pg-boss is asked, 0.5 or more, default 2;
   * with its `useListenNotify` it hears at once.
   */
  work(options?: { pollSeconds?: number; batch?: number }): Promise<() => Promise<void>>;
  /** For `createWorker({ wake })`: told when a job of this queue has come here. */
  wake(notify: () => void): () => void;
}

/** Makes the queues where they are not there. */
export async function postQueue(options: PostQueueOptions): Promise<PostQueue> {
  const { boss, name = "pawl-posts", queue = {} } = options;
  const made = new BossQueue(options, name);
  await boss.createQueue(made.deadLetters);
  await boss.createQueue(name, { ...patience, ...queue, deadLetter: made.deadLetters, notify: true });
  // Of those that wait one is enough.
  await boss.createQueue(made.wakes, {
    policy: "short",
    notify: true,
    retentionSeconds: 3_600,
    deleteAfterSeconds: 60,
  });
  return made;
}

const defaultBatch = 20;

class BossQueue implements PostQueue {
  readonly name: string;
  readonly deadLetters: string;
  readonly wakes: string;
  readonly #with: PostQueueOptions;
  readonly #workers = new Set<() => void>();

  constructor(options: PostQueueOptions, name: string) {
    this.#with = options;
    this.name = name;
    this.deadLetters = `${name}-dead`;
    this.wakes = `${name}-wake`;
  }

  async send(session: string, post: QueuedPost, { after, ...rest }: SendWhen = {}): Promise<string | null> {
    const { boss, runtime } = this.#with;
    // The id is chosen here: a send whose answer was lost is not a second input when it is sent again with it.
    const { id = runtime.effects.id("in"), ...job } = jobOf(post);
    const data: PostJob = { session, id, ...job };
    postOf("to be sent", data);
    const start = after === undefined ? {} : { startAfter: after };
    return boss.send(this.name, data, { ...rest, ...start });
  }

  async schedule({ key, at, timezone = "UTC", session, facts, input }: Schedule): Promise<void> {
    const to = { ...(session === undefined ? {} : { session }), ...(facts ? { facts } : {}) };
    const data: PostJob = { ...to, ...jobOf({ input }) };
    postOf("scheduled", data);
    await this.#with.boss.schedule(this.name, at, data, { key, tz: timezone });
  }

  unschedule(key: string): Promise<void> {
    return this.#with.boss.unschedule(this.name, key);
  }

  async nudge(): Promise<void> {
    await this.#with.boss.send(this.wakes, {});
  }

  async work({ pollSeconds = 2, batch = defaultBatch } = {}): Promise<() => Promise<void>> {
    const { boss } = this.#with;
    const often = { pollingIntervalSeconds: pollSeconds };
    const options = { ...often, batchSize: batch, perJobResults: true } as const;
    const posts = await boss.work<unknown, unknown, typeof options>(this.name, options, (jobs) =>
      Promise.all(jobs.map((job) => this.#post(job))),
    );
    const wakes = await boss.work(this.wakes, often, async () => this.#tell());
    return async () => {
      await boss.offWork(this.name, { id: posts, wait: true });
      await boss.offWork(this.wakes, { id: wakes, wait: true });
    };
  }

  /** Handed over as a function by itself. */
  readonly wake = (notify: () => void): (() => void) => {
    const entry = () => notify();
    this.#workers.add(entry);
    return () => this.#workers.delete(entry);
  };

  #tell(): void {
    for (const notify of this.#workers) notify();
  }

  /** One job's fate is not another's: each is settled by itself. */
  async #post({ id, data }: Job<unknown>): Promise<JobResult> {
    try {
      const { session, create, post } = postOf(id, data);
      const { runtime } = this.#with;
      if (create) await make(runtime, session, create);
      await accept(runtime, session, post);
      this.#tell();
      return { id, status: "completed", output: { session, post: post.id } };
    } catch (error) {
      const fate = fateOf(error);
      this.#with.onError?.(error, { id, data, fate });
      return { id, status: fate === "retry" ? "failed" : "deadletter", output: wordsOf(error) };
    }
  }
}

async function make(runtime: Runtime, session: string, facts: SessionFacts): Promise<void> {
  await createSession(runtime, session, facts).catch((error) => {
    // An earlier delivery has made it; or it is deleted, which the post finds out.
    if (!isPawlError(error, "SESSION_EXISTS")) throw error;
  });
}

async function accept(runtime: Runtime, session: string, post: Post): Promise<void> {
  // As a session's own `post` does it: what nobody could read would wait in the mailbox for ever.
  if (post.kind !== "input" && post.kind !== "steer") return void (await runtime.store.post(session, post));
  const { content } = post.body as unknown as { content: Part[] };
  await new Session(runtime, session).post(post.kind, content, post.id);
}

function wordsOf(error: unknown): { code: string; message: string } {
  const code = isPawlError(error) ? error.code : "UNKNOWN";
  return { code, message: error instanceof Error ? error.message : String(error) };
}
