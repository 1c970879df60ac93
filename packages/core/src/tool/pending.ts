/**
 * The incremental tracker of calls: the one place that knows what a committed message asked for and what came of it.
 * The live driver, recovery and the context read the same one.
 */
import { hash } from "node:crypto";
import type { LogEntry } from "../log/envelope.ts";
import type { ApprovalResolved, CallPart, MessagePart, ToolEntered, ToolOutput } from "../log/event.ts";
import { isHoleMark } from "../log/salvage.ts";

/** A question about a call that a person is asked. */
export interface Question {
  id: string;
  digest: string;
  ordinal: number;
  /** When it was asked, and when it expires, UTC ms. */
  at: number;
  expiresAt?: number;
}

export interface PendingCall {
  part: CallPart;
  /** The last `tool.entered` of this call and its time. */
  entered?: ToolEntered & { at: number };
  /** The last question about this call, and its answer. Entering the body spends both. */
  approval?: Question & { resolved?: ApprovalResolved };
  /** How often it was entered. */
  runs?: number;
  output?: ToolOutput;
  /** A hole in the log lies behind it: its entry, or its result, may be lost there. */
  lost?: true;
}

/** By call id, in call order. */
export type Pending = Map<string, PendingCall>;

/** Entries of the open attempt, before its message, by call. `lost`: a hole in the log lies behind its start. */
export type EagerEntries = Map<string, NonNullable<PendingCall["entered"]>> & { lost?: boolean };

/** Takes an entry of an eager read. Those of an attempt that left no message are facts about it, and of no call. */
export function trackEager(eager: EagerEntries, entry: LogEntry): void {
  const { event, time } = entry;
  if (isHoleMark(entry)) eager.lost = true;
  if (event.type === "attempt.started") {
    eager.clear();
    eager.lost = false;
  }
  if (event.type === "tool.entered" && event.attempt !== undefined) eager.set(event.call, { ...event, at: time });
}

/** The calls of a message that the client has to answer. Provider-executed ones answer themselves. */
export function pendingOf(parts: readonly MessagePart[], eager?: EagerEntries): Pending {
  const pending: Pending = new Map();
  for (const part of parts) {
    if (part.type !== "tool-call" || part.providerExecuted) continue;
    const entered = eager?.get(part.id);
    pending.set(part.id, { part, ...(entered ? { entered, runs: 1 } : {}), ...(eager?.lost ? { lost: true } : {}) });
  }
  return pending;
}

/** Takes a fact about a call; the first result wins, a later one is passed over. */
export function track(pending: Pending, entry: LogEntry): void {
  const { event, time } = entry;
  if (pending.size === 0) return;
  switch (event.type) {
    case "tool.entered": {
      const call = pending.get(event.call);
      if (!call) return;
      call.entered = { ...event, at: time };
      call.runs = (call.runs ?? 0) + 1;
      delete call.approval;
      return;
    }
    case "tool.settled": {
      const call = pending.get(event.call);
      if (call) call.output ??= event.output;
      return;
    }
    case "approval.requested": {
      const call = pending.get(event.call);
      if (!call) return;
      const { approval: id, digest, ordinal, expiresAt } = event;
      call.approval = { id, digest, ordinal, at: time, ...(expiresAt === undefined ? {} : { expiresAt }) };
      return;
    }
    case "approval.resolved": {
      for (const { approval } of pending.values()) if (approval?.id === event.approval) approval.resolved ??= event;
      return;
    }
    case "log.repaired":
      if (isHoleMark(entry)) for (const call of pending.values()) if (!call.output) call.lost = true;
      return;
    default:
      return;
  }
}

export function unsettled(pending: Pending): PendingCall[] {
  return [...pending.values()].filter((call) => call.output === undefined);
}

/** sha256 of tool and exact input: what an approval and an entry are bound to. */
export function callDigest(part: Pick<CallPart, "tool" | "input">): string {
  return hash("sha256", JSON.stringify([part.tool, part.input]), "hex");
}
