/** What happened, in sentences for a person: failures, decisions, outcomes, calls. The same live and in `pawl show`. */
import type { Decision, Failure, Json, Outcome, Part, ToolOutput } from "@pawl/core";
import { line, seconds } from "./style.ts";

const kinds: Record<Failure["kind"], string> = {
  connect: "No connection to the model",
  "stream-broken": "The connection broke",
  "rate-limited": "The provider limits our rate",
  overloaded: "The provider is overloaded",
  server: "The provider failed",
  empty: "The answer was empty",
  overflow: "The request is too large for the model",
  quota: "The quota is used up",
  auth: "The provider refuses the key",
  rejected: "The provider rejected the request",
  "provider-state": "The provider refuses its own earlier state",
  filtered: "The provider's filter withheld the answer",
  aborted: "Stopped on request",
  "tool-runtime": "The tools could not be run",
  store: "The log could not be written",
  unknown: "The model call failed",
};

export function failureWords(failure: Failure): string {
  const words = kinds[failure.kind];
  if (failure.kind === "aborted") return words;
  const status = failure.status === undefined ? "" : `${failure.status} `;
  const code = failure.code === undefined || failure.message.includes(failure.code) ? "" : ` (${failure.code})`;
  return `${words}: ${status}${line(failure.message, 300)}${code}`;
}

/** What recovery does about it, and how long that takes. */
export function decisionWords(decision: Decision, attempt: number): string {
  const wait = decision.delayMs > 0 ? `in ${seconds(decision.delayMs)}` : "at once";
  switch (decision.action) {
    case "retry":
      return `Nothing is lost. Trying again ${wait} (attempt ${attempt + 1}).`;
    case "seal":
      return `The thought so far is kept as a note. Trying again ${wait} (attempt ${attempt + 1}).`;
    case "discard":
      return `What it had said is withdrawn. Trying again ${wait} (attempt ${attempt + 1}).`;
    case "compact":
    case "strip":
    case "stop":
      return `Not tried again: ${decision.reason}.`;
  }
}

export function outcomeWords(outcome: Outcome): string {
  switch (outcome.type) {
    case "completed":
      return "done";
    case "failed":
      return "failed";
    case "aborted":
      return "stopped on request";
    case "interrupted":
      return "interrupted: the process that ran it ended";
    case "rate-limited":
      return outcome.until === undefined
        ? "rate-limited"
        : `rate-limited until ${new Date(outcome.until).toISOString()}`;
    case "quota":
      return "the quota is used up";
    case "truncated":
      return "the answer is cut off";
    case "empty":
      return "the model gave no answer";
    case "filtered":
      return "the provider's filter withheld the answer";
    case "overflow":
      return "the request is too large for the model";
    case "context-full":
      return "the context is full";
    case "limit":
      return `the limit on ${outcome.limit} is reached`;
  }
}

/** A call in one line: the argument that says most, else all of them. */
export function callWords(tool: string, input: string, width: number): string {
  return line(`${tool} ${telling(input)}`, width);
}

function telling(input: string): string {
  try {
    const value = JSON.parse(input) as { [key: string]: Json } | null;
    for (const name of ["command", "path", "pattern", "url"]) {
      const found = value?.[name];
      if (typeof found === "string") return found;
    }
  } catch {
    // Shown as it is.
  }
  return input;
}

export function outputText(output: ToolOutput): string {
  return output.content.map(partText).join("\n");
}

export function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "data":
      return JSON.stringify(part.data);
    case "file":
      return `[file ${part.filename ?? part.url ?? part.blob ?? ""}]`;
  }
}
