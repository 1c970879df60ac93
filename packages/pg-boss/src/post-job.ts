/**
 * What a job carries, and the post that it stands for. Pure.
 *
 * Invariant: the post's id, and the id of a session that is made for it, depend on the job alone: a job that is delivered
 * again is the same post to the same session, and the store answers `duplicate`.
 */
import { type Json, type Part, PawlError, type Post, type SessionFacts } from "@pawl/core";
import { admitPost, admitSessionId } from "@pawl/core/store";

/** What is to be posted: something to do, something to say in between, or the end of one turn (a deadline). */
export type QueuedPost =
  | { kind?: "input" | "steer"; input: string | readonly Part[]; id?: string }
  | { kind: "abort"; turn: string; id?: string };

/** The data of a job, as JSON. */
export interface PostJob {
  /** An id, never a name: a name may have moved when the job comes again. Absent: a session of its own for each job. */
  session?: string;
  /** With these the session is made where it is not there. */
  facts?: SessionFacts;
  /** Absent: derived from the job's id. */
  id?: string;
  kind: "input" | "steer" | "abort";
  body: { content: Part[] } | { turn: string };
}

export interface JobPost {
  session: string;
  /** Facts of a session that may have to be made first. */
  create: SessionFacts | undefined;
  post: Post;
}

/** The body of a job. Fails with INVALID_INPUT where its form could not be accepted. */
export function jobOf(post: QueuedPost): PostJob {
  const id = post.id === undefined ? {} : { id: post.id };
  const job: PostJob =
    post.kind === "abort"
      ? { ...id, kind: "abort", body: { turn: post.turn } }
      : { ...id, kind: post.kind ?? "input", body: { content: partsOf(post.input) } };
  admitPost("of a job", { id: post.id ?? "derived", kind: job.kind, body: job.body as unknown as Json });
  return job;
}

function partsOf(input: string | readonly Part[]): Part[] {
  return typeof input === "string" ? [{ type: "text", text: input }] : [...input];
}

/** Fails with INVALID_INPUT for data that no `send` has made. */
export function postOf(jobId: string, data: unknown): JobPost {
  const { session, facts, id = `job_${jobId}`, kind, body } = (data ?? {}) as Partial<PostJob>;
  if (typeof body !== "object" || body === null)
    throw new PawlError("INVALID_INPUT", `job ${jobId} carries no post; jobs of this queue are sent with \`send\``);
  if (kind !== "input" && kind !== "steer" && kind !== "abort")
    throw new PawlError("INVALID_INPUT", `job ${jobId}: kind is input, steer or abort, is ${JSON.stringify(kind)}`);
  const target = session ?? `s_job_${jobId}`;
  admitSessionId(target);
  const create = facts ?? (session === undefined ? {} : undefined);
  const post: Post = { id, kind, body: body as unknown as Json };
  admitPost(target, post);
  return { session: target, create, post };
}
