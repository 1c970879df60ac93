/** What to do after a turn that did not complete: one hint, and the command that goes on. */
import type { Failure, Outcome } from "@pawl/core";
import type { ChosenModel } from "./model.ts";
import type { RunOptions } from "./run.ts";

export interface Situation {
  outcome: Outcome;
  failure: Failure | undefined;
  chosen: Pick<ChosenModel, "url" | "keyEnv">;
  session: string;
  options: RunOptions;
}

export function adviceLines(situation: Situation): string[] {
  const hint = hintOf(situation);
  return [...(hint === undefined ? [] : [hint]), `Nothing is lost. To go on: ${commandOf(situation)}`];
}

function hintOf({ outcome, failure, chosen, session }: Situation): string | undefined {
  switch (outcome.type) {
    case "quota":
      return "Add credit at the provider, or go on with another --model.";
    case "rate-limited":
      return outcome.until === undefined ? "Wait a little before you go on." : undefined;
    case "overflow":
    case "context-full":
      return `Go back to an earlier turn with --fork-from ${session}:N, or begin a new session.`;
    case "failed":
      return failure && hintOfFailure(failure, chosen);
    default:
      return undefined;
  }
}

function hintOfFailure({ kind, status }: Failure, { url, keyEnv }: Situation["chosen"]): string | undefined {
  switch (kind) {
    case "connect":
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
function commandOf({ session, options }: Situation): string {
  const given: [string, string | undefined][] = [
    ["--session", session],
    ["--model", options.model],
    ["--base-url", options.baseUrl],
    ["--api-key-env", options.apiKeyEnv],
    ["--cwd", options.cwd],
    ["--store", options.store],
  ];
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [name, quoted(value)]));
  return ["pawl run", ...words, ...(options.yes ? ["--yes"] : []), '"go on"'].join(" ");
}

/** As a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
