/** Asking before something is done that takes away. */
import { PawlError } from "@pawl/core";
import { nextLine, Questions } from "./question.ts";

export interface ConsentOptions {
  yes?: boolean;
  json?: boolean;
}

/** Refused before anything is looked for where nobody can be asked. `what` it does, as a sentence. Fails with INVALID_INPUT. */
export function demandConsent(what: string, { yes, json }: ConsentOptions): void {
  if (yes || (Questions.possible && !json)) return;
  const why = json ? "--json asks nobody" : "there is no terminal to ask in";
  throw new PawlError("INVALID_INPUT", `${what}, and ${why}; say that it is meant with --yes`);
}

/** Whether the person at the terminal says yes; `--yes` has said it. What is meant stands on the screen before. */
export async function consented(question: string, { yes }: ConsentOptions): Promise<boolean> {
  if (yes) return true;
  process.stderr.write(`${question} [y]es, [N]o: `);
  const answer = await nextLine(new AbortController().signal);
  if (answer === undefined) process.stderr.write("\n");
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}
