/**
 * Whether a call may run: policy first, then what a person has said, then a person. The question and the answer are
 * records bound to the digest of the exact call. An answer may come from an approver in this process or by post from
 * any other; the first one counts. Where nobody can answer, policy says what happens: never a hang.
 */
import { joinSignals } from "../attempt/joined-signal.ts";
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";
import { copied } from "../log/copy.ts";
import type { ApprovalResolved, Effect, ToolOutput } from "../log/event.ts";
import { record, string } from "../log/shape.ts";
import { callDigest, type PendingCall, type Question } from "./pending.ts";
import type { InputPatterns, PermissionWord } from "./permission.ts";
import type { RunnableCall } from "./prepare.ts";
import { codedOutput } from "./settle.ts";

export interface PermissionQuestion {
  call: string;
  tool: string;
  input: unknown;
  effect: Effect;
}

/** A word, and for a denial why, as the model is told. */
export type PermissionVerdict = PermissionWord | { say: PermissionWord; reason?: string };

/** Policy: decides by itself, or says that a person is to be asked. A throw is a step failure. */
export type Permission = (question: PermissionQuestion) => PermissionVerdict;

export interface ApprovalAnswer {
  answer: "allow" | "deny";
  /** Who answered, for the record. */
  by: string;
  reason?: string;
  /**
   * How far the answer reaches: `call` (default) for this call, `session` for later ones of this session, too, `forks`
   * also for those of sessions forked from it. It can be revoked.
   */
  scope?: ApprovalResolved["scope"];
  /** With a wider scope: the inputs of this tool it is for. Default: only the very same input. `{}`: any. */
  input?: InputPatterns;
}

/** An answer, and the post that brought it, if one did. */
export interface HeardAnswer extends ApprovalAnswer {
  post?: string;
}

/** Asks a person. Rejecting means that nobody could be asked; the signal says that the answer is no longer wanted. */
export type Approver = (question: PermissionQuestion, signal: AbortSignal) => Promise<ApprovalAnswer>;

/**
 * What becomes of a question when no approver is there, or it fails. `deny`: the call is refused at once. `abort`: the
 * turn ends. `wait`: the question stays open until an answer comes by post or it expires, also over restarts.
 */
export type Unanswered = "deny" | "wait" | "abort";

export interface Approval {
  permission: Permission;
  approver: Approver | undefined;
  unanswered: Unanswered;
  /** How long a question stays open, ms; 0: without end. */
  approvalMs: number;
  /** What a person has said before that still stands, for calls like this one. */
  standing(question: PermissionQuestion, digest: string): "allow" | "deny" | undefined;
  /** The answer that has come by post, if one has. */
  posted(question: Question): HeardAnswer | undefined;
  /** Calls `notify` when posts have come. Returns the end of the watch. */
  onPost(notify: () => void): () => void;
}

export type Verdict =
  | { say: "run" }
  | { say: "refuse"; output: ToolOutput }
  | { say: "ask"; question: PermissionQuestion };

/** What is known without asking anybody: policy, an answer that no entry has spent, an answer that stands. */
export function judge(call: PendingCall, checked: RunnableCall, { permission, standing }: Approval): Verdict {
  const { part, approval } = call;
  const question = { call: part.id, tool: part.tool, input: copied(checked.input), effect: checked.prepared.effect };
  const given = permission(question);
  const { say: verdict, reason } = typeof given === "string" ? { say: given, reason: undefined } : given;
  if (verdict === "deny") return refuse(reason ?? "the policy does not allow this call");
  if (verdict === "allow" && !checked.needsApproval) return { say: "run" };
  const digest = callDigest(part);
  const resolved = approval?.digest === digest ? approval.resolved : undefined;
  if (resolved) return resolved.answer === "allow" ? { say: "run" } : refuse(resolved.reason);
  switch (standing(question, digest)) {
    case "allow":
      return { say: "run" };
    case "deny":
      return refuse("a person has denied calls like this one");
    case undefined:
      return { say: "ask", question };
  }
}

/** The answer where nobody is asked: by post already there, else by policy. Undefined: somebody has to be waited for. */
export function answerAtOnce(question: Question, { approver, unanswered, posted }: Approval): HeardAnswer | undefined {
  if (approver || unanswered === "wait") return undefined;
  return posted(question) ?? nobody;
}

export const nobody: ApprovalAnswer = {
  answer: "deny",
  by: "nobody",
  reason: "this call needs a person's approval, and nobody is there to give it",
};

const expired: ApprovalAnswer = {
  answer: "deny",
  by: "expiry",
  reason: "this call needs a person's approval, and nobody gave it in time",
};

/** Waits for the first answer, whoever gives it. Undefined: the answer was no longer wanted before it came. */
export async function ask(
  question: PermissionQuestion,
  open: Question,
  approval: Approval,
  signal: AbortSignal,
  { clock, timers }: Effects,
): Promise<HeardAnswer | undefined> {
  // Given while nobody was asking: no one else need be bothered.
  const given = approval.posted(open);
  if (given || signal.aborted) return signal.aborted ? undefined : given;
  const over = new AbortController();
  const { promise, resolve } = Promise.withResolvers<HeardAnswer | undefined>();
  const hear = () => {
    const answer = approval.posted(open);
    if (answer) resolve(answer);
  };
  const onAbort = () => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  const ends = [approval.onPost(hear), () => signal.removeEventListener("abort", onAbort), () => over.abort()];
  if (open.expiresAt !== undefined) {
    // By the wall clock, since it was agreed with others; never longer than it was at first.
    const left = Math.min(Math.max(open.expiresAt - clock.now(), 0), open.expiresAt - open.at, limit.timerMs);
    ends.push(timers.after(left, () => resolve(expired)));
  }
  const wanted = joinSignals(signal, over.signal);
  ends.push(wanted.release);
  void consult(question, approval, wanted.signal).then((said) => said && resolve(said));
  try {
    const answer = await promise;
    return signal.aborted ? undefined : answer;
  } finally {
    for (const end of ends) end();
  }
}

/** What the approver of this process says. Undefined: nothing, and others may still. */
async function consult(
  question: PermissionQuestion,
  { approver, unanswered }: Approval,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  try {
    const given = await approver?.(question, signal);
    if (given) return plainAnswer(given);
  } catch {
    // Gone, as a terminal that was closed: what policy says where nobody is there holds.
  }
  return unanswered === "wait" ? undefined : nobody;
}

const patterns = record(string);

const scopes: ReadonlySet<unknown> = new Set(["call", "session", "forks"]);

/** Whatever is said that is not a plain yes is a no, and a scope that is none is the narrowest: the worse mistake is to run. */
function plainAnswer({ answer, by, reason, scope, input }: ApprovalAnswer): ApprovalAnswer {
  return {
    answer: answer === "allow" ? "allow" : "deny",
    by: typeof by === "string" ? by : "unknown",
    scope: scope !== undefined && scopes.has(scope) ? scope : "call",
    ...(typeof reason === "string" ? { reason } : {}),
    ...(input !== undefined && patterns.check(input, "input") === undefined ? { input } : {}),
  };
}

export function denied(reason = "a person denied this call"): ToolOutput {
  return codedOutput("TOOL_DENIED", `${reason}. Do not try the same again; find another way or ask.`);
}

function refuse(reason: string | undefined): Verdict {
  return { say: "refuse", output: denied(reason) };
}
