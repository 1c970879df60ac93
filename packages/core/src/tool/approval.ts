/**
 * Whether a call may run: policy first, then a person. The question and the answer are records bound to the digest of
 * the exact call; nobody to answer is an immediate, typed denial, never a hang.
 */
import type { Effect, ToolOutput } from "../log/event.ts";
import { callDigest, type PendingCall } from "./pending.ts";
import type { RunnableCall } from "./prepare.ts";
import { codedOutput } from "./settle.ts";

export interface PermissionQuestion {
  call: string;
  tool: string;
  input: unknown;
  effect: Effect;
}

/** Policy: decides by itself, or says that a person is to be asked. A throw is a step failure. */
export type Permission = (question: PermissionQuestion) => "allow" | "ask" | "deny";

export interface ApprovalAnswer {
  answer: "allow" | "deny";
  /** Who answered, for the record. */
  by: string;
  reason?: string;
}

/** Asks a person. Rejecting counts as a denial; the signal says that the answer is no longer wanted. */
export type Approver = (question: PermissionQuestion, signal: AbortSignal) => Promise<ApprovalAnswer>;

export type Verdict =
  | { say: "run" }
  | { say: "refuse"; output: ToolOutput }
  | { say: "ask"; question: PermissionQuestion; approver: Approver };

export interface Approval {
  permission: Permission;
  approver: Approver | undefined;
}

/** What is known without asking anybody: the policy, and an answer that the log holds and no entry has spent. */
export function judge(call: PendingCall, checked: RunnableCall, { permission, approver }: Approval): Verdict {
  const { part, approval } = call;
  const question = { call: part.id, tool: part.tool, input: checked.input, effect: checked.prepared.effect };
  const verdict = permission(question);
  if (verdict === "deny") return refuse("the policy does not allow this call");
  if (verdict === "allow" && !checked.needsApproval) return { say: "run" };
  const resolved = approval?.digest === callDigest(part) ? approval.resolved : undefined;
  if (resolved) return resolved.answer === "allow" ? { say: "run" } : refuse(resolved.reason);
  if (!approver) return refuse("this call needs a person's approval, and nobody is there to give it");
  return { say: "ask", question, approver };
}

const nobody: ApprovalAnswer = { answer: "deny", by: "nobody", reason: "no answer was given" };

/** Undefined: the answer was no longer wanted before it came. */
export async function ask(
  { question, approver }: Extract<Verdict, { say: "ask" }>,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  const { promise: cut, resolve } = Promise.withResolvers<undefined>();
  const onAbort = () => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) return undefined;
    const given = await Promise.race([approver(question, signal), cut]);
    if (signal.aborted) return undefined;
    // Whatever an approver says that is not a plain yes is a no: the worse mistake is to run.
    const { answer: said, by, reason } = given ?? nobody;
    const told = typeof reason === "string" ? { reason } : {};
    return { answer: said === "allow" ? "allow" : "deny", by: typeof by === "string" ? by : "unknown", ...told };
  } catch {
    return signal.aborted ? undefined : nobody;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

export function denied(reason = "a person denied this call"): ToolOutput {
  return codedOutput("TOOL_DENIED", `${reason}. Do not try the same again; find another way or ask.`);
}

function refuse(reason: string | undefined): Verdict {
  return { say: "refuse", output: denied(reason) };
}
