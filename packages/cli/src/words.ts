/** What happened, in sentences for a person: failures, decisions, outcomes, calls. The same live and in `pawl show`. */
import type { Books, Decision, Failure, Json, Outcome, Part, ToolOutput } from "@pawl/core";
import { counted, grouped, line, moment, seconds } from "./style.ts";

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

/** What is wrong at an address is said with the address. */
const namesPlace: ReadonlySet<Failure["kind"]> = new Set(["connect", "auth", "rejected", "unknown"]);

/** `url` is where the model was asked, if that is known. */
export function failureWords(failure: Failure, url?: string): string {
  // The log says what the world looked like (a broken stream); a person wants to know that it was the process.
  const words =
    failure.detector === "runtime" && failure.kind === "stream-broken" ? "Interrupted" : kinds[failure.kind];
  if (failure.kind === "aborted") return words;
  // A status that says "good" explains no failure; of a connection the innermost cause says most.
  const status = failure.status === undefined || failure.status < 300 ? "" : `${failure.status} `;
  const transport = failure.kind === "connect" || failure.kind === "stream-broken";
  const message = (transport ? failure.causes?.at(-1) : undefined) ?? failure.message;
  const code = failure.code === undefined || message.includes(failure.code) ? "" : ` (${failure.code})`;
  const place = url !== undefined && namesPlace.has(failure.kind) ? ` at ${url}` : "";
  return `${words}${place}: ${status}${line(message, 300)}${code}`;
}

/** What recovery does about it, and how long that takes. `most` is the budget of attempts. */
export function decisionWords(decision: Decision, attempt: number, most: number): string {
  const wait = decision.delayMs > 0 ? `in ${seconds(decision.delayMs)}` : "at once";
  const again = `Trying again ${wait} (attempt ${attempt + 1} of ${most}).`;
  switch (decision.action) {
    case "retry":
      return `Nothing is lost. ${again}`;
    case "seal":
      return `The thought so far is kept as a note. ${again}`;
    case "discard":
      return `What it had said is withdrawn. ${again}`;
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
      return outcome.until === undefined ? "rate-limited" : `rate-limited until ${moment(outcome.until)}`;
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
    if (value !== null && typeof value === "object" && Object.keys(value).length === 0) return "";
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

/** What requests have cost; what the lost ones cost stands apart. */
export function booksWords({ committed, discarded }: Books): string[] {
  const { input, output } = committed.tokens;
  const lines = [`${counted(committed.attempts, "request")} · ${grouped(input)} tokens in, ${grouped(output)} out`];
  if (discarded.attempts > 0) {
    const tokens = `${discarded.estimated > 0 ? "about " : ""}${grouped(discarded.tokens.input)} tokens in, ${grouped(discarded.tokens.output)} out`;
    const unmeasured = discarded.unmeasured > 0 ? `${discarded.unmeasured} of them without a figure` : "";
    const known = discarded.unmeasured === discarded.attempts ? "tokens unknown" : tokens;
    const cost = known === tokens && unmeasured !== "" ? `${tokens}, ${unmeasured}` : known;
    lines.push(`and ${counted(discarded.attempts, "request")} lost on the way · ${cost}`);
  }
  return lines;
}
