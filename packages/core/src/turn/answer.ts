/**
 * Posts of kind `answer`: an answer to a question, the revocation of one that stands, or the late result of a call.
 *
 * Owns: their shapes, and what becomes of those that nothing waits for. Does not own: matching an answer to an open
 * question (the dispatcher asks for it). Invariants:
 * 1. An answer counts for the question that it names, once. A second one, one that comes after the question ended or
 *    expired, or one for a call that has changed, is a note.
 * 2. A post of a shape that we do not know stays where it is, for who understands it.
 */
import type { ApprovalResolved, Json } from "../log/event.ts";
import { id, isId, object, oneOf, optional, record, type Shape, string } from "../log/shape.ts";
import type { MailboxEntry } from "../store/store.ts";
import type { HeardAnswer } from "../tool/approval.ts";
import type { Question } from "../tool/pending.ts";
import type { Driver } from "./driver.ts";

/** What `session.answer` posts. */
export interface AnswerBody {
  approval: string;
  answer: ApprovalResolved["answer"];
  by: string;
  scope: ApprovalResolved["scope"];
  reason?: string;
  input?: { [field: string]: string };
  /** Of the call that the answerer has seen. */
  digest?: string;
}

/** What `session.revoke` posts. */
export interface RevocationBody {
  revoke: string;
  by: string;
  reason?: string;
}

export type AnswerPost = { id: string; postedAt: number } & (
  | ({ kind: "answer" } & AnswerBody)
  | ({ kind: "revocation" } & RevocationBody)
  /** A call that was settled without it. */
  | { kind: "late"; call: string; output: Json }
);

export const answerShape: Shape<AnswerBody> = object<AnswerBody>({
  approval: id,
  answer: oneOf("allow", "deny"),
  by: string,
  scope: oneOf("call", "session", "forks"),
  reason: optional(string),
  input: optional(record(string)),
  digest: optional(string),
});

export const revocationShape: Shape<RevocationBody> = object<RevocationBody>({
  revoke: id,
  by: string,
  reason: optional(string),
});

/** Undefined for other kinds, and for a body of a version that knows more than we do. */
export function answerPostOf({ id, kind, body, postedAt }: MailboxEntry): AnswerPost | undefined {
  if (kind !== "answer") return undefined;
  const at = { id, postedAt };
  if (answerShape.check(body, "body") === undefined) return { ...(body as unknown as AnswerBody), ...at, kind };
  if (revocationShape.check(body, "body") === undefined)
    return { ...(body as unknown as RevocationBody), ...at, kind: "revocation" };
  const { call, output } = (body ?? {}) as { call?: unknown; output?: Json };
  return isId(call) && output !== undefined ? { ...at, kind: "late", call, output } : undefined;
}

/** The first answer to this question that came in time and means this call. */
export function answerTo(posts: readonly AnswerPost[], question: Question): HeardAnswer | undefined {
  for (const post of posts) {
    if (post.kind !== "answer" || post.approval !== question.id) continue;
    if (question.expiresAt !== undefined && post.postedAt > question.expiresAt) continue;
    if (post.digest !== undefined && post.digest !== question.digest) continue;
    const { answer, by, scope, reason, input } = post;
    const told = reason === undefined ? {} : { reason };
    return { answer, by, scope, ...told, ...(input === undefined ? {} : { input }), post: post.id };
  }
  return undefined;
}

/** Takes back answers that stand, before the next call is judged. */
export function recordRevocations({ inbox, ledger }: Driver): void {
  for (const post of inbox.answers) {
    if (post.kind !== "revocation") continue;
    const { id, revoke, by, reason = "revoked" } = post;
    inbox.take(id);
    ledger.consume(id);
    if (ledger.state.standing.has(revoke))
      ledger.stage({ type: "approval.resolved", approval: revoke, answer: "deny", by, scope: "call", reason });
    else ledger.stage({ type: "note.recorded", about: revoke, text: "a revocation came, and no such answer stands" });
  }
}

/** Where no question can be open: whatever else has come is for people, never for the model. */
export function recordAnswers(driver: Driver): void {
  const { inbox, ledger } = driver;
  recordRevocations(driver);
  for (const post of inbox.answers) {
    inbox.take(post.id);
    ledger.consume(post.id);
    if (post.kind === "late") {
      const { call, output } = post;
      ledger.stage({
        type: "note.recorded",
        about: call,
        text: "a result came after the call was settled",
        data: output,
      });
    }
    if (post.kind !== "answer") continue;
    const { approval, answer, by } = post;
    const text = "an answer came when its question was over, or was for another call";
    ledger.stage({ type: "note.recorded", about: approval, text, data: { answer, by } });
  }
}
