/**
 * The incremental tracker of calls: the one place that knows what a committed message asked for and what came of it.
 * The live driver, recovery and the context read the same one.
 */
import { hash } from "node:crypto";
import type { LogEntry } from "../log/envelope.ts";
import type { ApprovalResolved, CallPart, MessagePart, ToolEntered, ToolOutput } from "../log/event.ts";

export interface PendingCall {
  part: CallPart;
  /** The last `tool.entered` of this call and its time. */
  entered?: ToolEntered & { at: number };
  /** The last question about this call, and its answer. Entering the body spends both. */
  approval?: { id: string; digest: string; ordinal: number; resolved?: ApprovalResolved };
  output?: ToolOutput;
}

/** By call id, in call order. */
export type Pending = Map<string, PendingCall>;

/** The calls of a message that the client has to answer. Provider-executed ones answer themselves. */
export function pendingOf(parts: readonly MessagePart[]): Pending {
  const pending: Pending = new Map();
  for (const part of parts) {
    if (part.type === "tool-call" && !part.providerExecuted) pending.set(part.id, { part });
  }
  return pending;
}

/** Takes a fact about a call; the first result wins, a later one is passed over. */
export function track(pending: Pending, { event, time }: LogEntry): void {
  if (pending.size === 0) return;
  switch (event.type) {
    case "tool.entered": {
      const call = pending.get(event.call);
      if (!call) return;
      call.entered = { ...event, at: time };
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
      if (call) call.approval = { id: event.approval, digest: event.digest, ordinal: event.ordinal };
      return;
    }
    case "approval.resolved": {
      for (const { approval } of pending.values()) if (approval?.id === event.approval) approval.resolved ??= event;
      return;
    }
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
