/** What to do after a turn that did not complete: one hint, and the command that goes on. */
import type { Failure, Outcome } from "@pawl/core";
import type { ChosenModel } from "./model.ts";
import { commandLine, newInput } from "./next-command.ts";
import type { RunOptions } from "./run.ts";

export interface Situation {
  outcome: Outcome;
  failure: Failure | undefined;
  chosen: Pick<ChosenModel, "url" | "keyEnv">;
  /** As it is best called. */
  session: string;
  options: RunOptions;
}

type Way = "run" | "resume" | "continue";

export interface Advice {
  hints: string[];
  /** Each with a command that can be pasted. */
  commands: string[];
}

export function adviceOn(situation: Situation): Advice {
  const { outcome, session, options } = situation;
  const hint = hintOf(situation);
  const full = (outcome.type === "context-full" || outcome.type === "overflow") && !isOverhead(situation.failure);
  const first = full ? [`First: ${commandLine(["compact", session], [["--store", options.store]])}`] : [];
  const goOn = goOnCommand(outcome.type === "filtered" ? "run" : "continue", situation);
  const commands = [...first, `Nothing is lost. To go on: ${goOn}`];
  return { hints: hint === undefined ? [] : [hint], commands };
}

function hintOf({ outcome, failure, chosen, session, options }: Situation): string | undefined {
  switch (outcome.type) {
    case "quota":
      return "Add credit at the provider, or go on with another --model.";
    case "rate-limited":
      return outcome.until === undefined ? "Wait a little before you go on." : undefined;
    case "filtered":
      return "Say it in other words; the same ones would be withheld again.";
    case "overflow":
    case "context-full":
      return fullHint(failure, session, options);
    case "failed":
      return failure && hintOfFailure(failure, chosen);
    default:
      return undefined;
  }
}

/** What is sent with every request leaves no room: leaving the conversation out would not mend that. */
function isOverhead(failure: Failure | undefined): boolean {
  return failure?.code === "OVERHEAD";
}

function fullHint(failure: Failure | undefined, session: string, { window, store }: RunOptions): string {
  const larger = window === undefined ? "a model with a larger window" : `a larger --window than ${window}`;
  if (isOverhead(failure)) return `Use ${larger}: what goes with every request fills it alone.`;
  return `Leave out what is old (below), use ${larger}, or go back: ${commandLine(["rewind", session], [["--store", store]])}`;
}

function hintOfFailure({ kind, status, code }: Failure, { url, keyEnv }: Situation["chosen"]): string | undefined {
  switch (kind) {
    case "connect":
      if (code === "ENOTFOUND" || code === "EAI_AGAIN")
        return `${URL.canParse(url) ? `The host ${new URL(url).host}` : "Its host"} could not be looked up: is this machine on the network, and the name right?`;
      return `Is a server running at ${url}? Another one is named with --base-url.`;
    case "auth":
      return `Check the key in ${keyEnv}, or name another variable with --api-key-env.`;
    case "rejected":
      return status === 404 || status === 405
        ? `Check the model's id and --base-url (${url}); most end in /v1.`
        : undefined;
    default:
      return undefined;
  }
}

/** With the options that were given, so that it can be pasted. */
export function goOnCommand(way: Way, { session, options }: Pick<Situation, "session" | "options">): string {
  const words = way === "run" ? [newInput, "--session", session] : [way, session];
  const line = commandLine(words, [
    ["--model", options.model],
    ["--base-url", options.baseUrl],
    ["--api-key-env", options.apiKeyEnv],
    ["--cwd", options.cwd],
    ["--store", options.store],
    ["--mode", options.mode],
    ["--sandbox", options.sandbox],
    ["--window", options.window === undefined ? undefined : String(options.window)],
    ["--idle-ms", options.idleMs === undefined ? undefined : String(options.idleMs)],
    ["--mcp-config", options.mcpConfig],
  ]);
  return options.yes ? `${line} --yes` : line;
}
