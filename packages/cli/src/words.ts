/** What happened, in sentences for a person: failures, decisions, outcomes, calls. The same live and in `pawl show`. */
import type { Books, Decision, EventOf, Failure, Json, Outcome, Part, ToolOutput, WorkspaceWait } from "@pawl/core";
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

/** A summary that does not help is no fault of the wire, and no request of the person's that is too large. */
export function summaryFailureWords(failure: Failure, url?: string): string {
  const useless = failure.detector === "runtime" && (failure.kind === "overflow" || failure.kind === "empty");
  return useless ? `The summary does not help: ${line(failure.message, 300)}` : failureWords(failure, url);
}

/** Why a conversation was made shorter: a request was refused, or the next one would come close to the window. */
export type CompactionCause = "refused" | "crowded";

const compacted: Record<NonNullable<EventOf<"context.compacted">["by"]>, string> = {
  summary: "its older part is summed up",
  drop: "its older part is left out, on request",
  prune: "old results are cut",
};

/** In one line: from how much to how much, by what, why. */
export function compactionWords(
  { by = "summary", tokensBefore, tokensAfter }: EventOf<"context.compacted">,
  cause: CompactionCause,
): string {
  const known = tokensBefore !== undefined && tokensAfter !== undefined;
  const figures = known ? `, ${grouped(tokensBefore)} → ${grouped(tokensAfter)} tokens` : "";
  const why = { refused: "it did not fit", crowded: "the window was nearly full" }[cause];
  return `conversation shortened${figures}: ${compacted[by]}${by === "drop" ? "" : `, ${why}`}`;
}

export function strippedWords({ provider, reason }: EventOf<"provider-state.stripped">): string {
  return `${provider} refused its own earlier state (${line(reason, 120)}): it is left out from now on`;
}

export function pausedWords(reason: string): string {
  return `Paused: ${line(reason, 300)}`;
}

export const resumedWords = "There is room again: going on. Nothing was lost.";

/** What recovery does about it, and how long that takes. `most` is the budget of attempts. */
export function decisionWords(decision: Decision, attempt: number, most: number | undefined): string {
  const wait = decision.delayMs > 0 ? `in ${seconds(decision.delayMs)}` : "at once";
  const again = `Trying again ${wait} (attempt ${attempt + 1}${most === undefined ? "" : ` of ${most}`}).`;
  switch (decision.action) {
    case "retry":
      return `Nothing is lost. ${again}`;
    case "seal":
      return `The thought so far is kept as a note. ${again}`;
    case "discard":
      return `What it had said is withdrawn. ${again}`;
    case "compact":
      return "The conversation is made shorter, then it is asked again.";
    case "strip":
      return "The provider's earlier state is left out, then it is asked again.";
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
    for (const name of ["command", "path", "pattern", "url", "question"]) {
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

/** What a session waits for, in a clause. */
export function waitWords({ workspace, since }: WorkspaceWait): string {
  return `waits for a worker that has the workspace ${line(workspace, 72)}, since ${moment(since)}`;
}

/** What somebody handed over, in one text. */
export function inputText(content: readonly Part[]): string {
  return content.map(partText).join(" ");
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
