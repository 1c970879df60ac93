/**
 * Whether a call may run: policy first, then a person. The question and the answer are records bound to the digest of
 * the exact call; nobody to answer is an immediate, typed denial, never a hang.
 */
import type { CallPart, Effect, ToolOutput } from "../log/event.ts";
import type { DispatchHost, DispatchOptions } from "./dispatch.ts";
import { callDigest } from "./pending.ts";
import type { CheckedCall } from "./prepare.ts";
import { codedOutput } from "./settle.ts";

export interface PermissionQuestion {
  call: string;
  tool: string;
  input: unknown;
  effect: Effect;
}

/** Policy: decides by itself, or says that a person is to be asked. */
export type Permission = (question: PermissionQuestion) => "allow" | "ask" | "deny";

export interface ApprovalAnswer {
  answer: "allow" | "deny";
  /** Who answered, for the record. */
  by: string;
  reason?: string;
}

/** Asks a person. Rejecting, like the signal's abort, counts as no answer: the call is denied. */
export type Approver = (question: PermissionQuestion, signal: AbortSignal) => Promise<ApprovalAnswer>;

/** Undefined: the call may run. Otherwise the result that tells the model it may not. */
export async function approve(
  part: CallPart,
  checked: Extract<CheckedCall, { ok: true }>,
  host: DispatchHost,
  { permission, approver, signal, effects }: DispatchOptions,
): Promise<ToolOutput | undefined> {
  const question = { call: part.id, tool: part.tool, input: checked.input, effect: checked.prepared.effect };
  const verdict = permission(question);
  if (verdict === "allow") return undefined;
  if (verdict === "deny") return denied("the policy does not allow this call");
  if (!approver) return denied("this call needs a person's approval, and nobody is there to give it");
  const approval = effects.id("ap");
  host.stage({ type: "approval.requested", approval, call: part.id, digest: callDigest(part), ordinal: 1 });
  await host.commit();
  const answer = await approver(question, signal).catch(
    (): ApprovalAnswer => ({ answer: "deny", by: "nobody", reason: "no answer was given" }),
  );
  host.stage({ type: "approval.resolved", approval, scope: "call", ...answer });
  return answer.answer === "allow" ? undefined : denied(answer.reason ?? "a person denied this call");
}

function denied(reason: string): ToolOutput {
  return codedOutput("TOOL_DENIED", `${reason}. Do not try the same again; find another way or ask.`);
}
