/**
 * Calls that a dead driver had entered. A `write` is never entered again: its reconciler may look at the world, else
 * its outcome is unknown (L4). `read` and `idempotent` ones may run again under the same key.
 */
import type { Effects } from "../effects.ts";
import type { ToolSettled } from "../log/event.ts";
import { outputOf } from "../tool/output.ts";
import type { PendingCall } from "../tool/pending.ts";
import { checkCall, type PreparedTool, type PreparedTools } from "../tool/prepare.ts";
import { codedOutput, settleMissing } from "../tool/settle.ts";
import type { Reconciled } from "../tool/tool.ts";

/** Undefined: the call may be dispatched. */
export async function settleDoubtful(
  call: PendingCall,
  tools: PreparedTools,
  validate: Effects["validate"],
): Promise<ToolSettled | undefined> {
  // The effect as it was when the body was entered; today's registry may say otherwise.
  if (call.entered?.effect !== "write") return undefined;
  const checked = await checkCall(call.part, tools, validate);
  const verdict = checked.ok ? await reconciled(checked.prepared, checked.input, call, call.entered) : undefined;
  switch (verdict?.verdict) {
    case "done":
      return result(call, outputOf(verdict.output, checked.ok ? checked.prepared.outputChars : 0));
    case "not-done":
      return result(
        call,
        codedOutput(
          "TOOL_NOT_STARTED",
          "The runtime stopped before this call took effect. Make it again if it is still wanted.",
        ),
      );
    default:
      return settleMissing([call])[0];
  }
}

async function reconciled(
  { tool }: PreparedTool,
  input: unknown,
  { part }: PendingCall,
  entered: NonNullable<PendingCall["entered"]>,
): Promise<Reconciled | undefined> {
  // A reconciler that fails knows nothing.
  return tool
    .reconcile?.({ callId: part.id, idempotencyKey: entered.key, input, enteredAt: entered.at })
    .catch(() => undefined);
}

function result({ part }: PendingCall, output: ToolSettled["output"]): ToolSettled {
  return { type: "tool.settled", call: part.id, output, by: "reconcile" };
}
