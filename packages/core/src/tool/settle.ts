/**
 * The one constructor of results that no body gave: live, after a crash, in a fork, and when an old log is read.
 *
 * Owns: which code a call without a result gets, and the words. Executes nothing. Pure. Invariants:
 * 1. A recorded result is kept.
 * 2. Never entered is TOOL_NOT_STARTED; entered without a result is TOOL_OUTCOME_UNKNOWN and warns against a blind repeat.
 * 3. The words are the same every time, so that a derived request has the same bytes.
 */
import type { ResultCode, SettledBy, ToolOutput, ToolSettled } from "../log/event.ts";
import { capText, cleanText } from "./output.ts";
import type { PendingCall } from "./pending.ts";

const words: Partial<Record<ResultCode, string>> = {
  TOOL_NOT_STARTED: "This call was never started, so it had no effect. Make it again if it is still wanted.",
  TOOL_OUTCOME_UNKNOWN:
    "This call was started, and its result is not known: it may have taken effect in whole, in part or not at all. " +
    "Do not simply repeat it. First look at what it would have changed, then decide.",
  TOOL_ABORTED: "This call was stopped on request before it ended. Part of its effect may be there.",
  TOOL_ABANDONED:
    "This call did not end within its time and did not react to being stopped. It may still be running or take effect later. " +
    "Do not simply repeat it; look at what it would have changed.",
  TOOL_INPUT_CUT:
    "The output limit cut this call's input, so it was not run. Write less per call: split the work over several calls.",
};

/** Our own words quote inputs, schemas and errors of others; a page of them helps, more would crowd out the rest. */
const toldChars = 4_000;

/** An error result with a code, and the code in the text, since the model only sees text. */
export function codedOutput(code: ResultCode, text = words[code] ?? ""): ToolOutput {
  const told = `${code}: ${capText(cleanText(text), toldChars)}`;
  return { content: [{ type: "text", text: told }], isError: true, code };
}

/** What a call without a recorded result is told. */
export function missingOutput(call: Pick<PendingCall, "entered" | "lost" | "part">): ToolOutput {
  if (call.part.cut) return codedOutput("TOOL_INPUT_CUT");
  return codedOutput(call.entered || call.lost ? "TOOL_OUTCOME_UNKNOWN" : "TOOL_NOT_STARTED");
}

/** Results for the calls that have none, in the order given: call order. */
export function settleMissing(calls: readonly PendingCall[], by: SettledBy = "recovery"): ToolSettled[] {
  return calls
    .filter((call) => call.output === undefined)
    .map((call) => ({ type: "tool.settled", call: call.part.id, output: missingOutput(call), by }));
}
