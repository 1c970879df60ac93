/** The command that goes on, so that it can be pasted: with the model that the session was last driven with. */
import type { LogEntry, ModelRef } from "@pawl/core";
import { maskedUrls } from "./masked-url.ts";
import { endpoints } from "./models/endpoint.ts";
import { wordOf } from "./money.ts";

/** As a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Where a new input is next: words that are meant to be replaced. */
export const newInput = 'run "what to do next"';

export type Option = [name: string, value: string | undefined];

/** `words` stand first, as they are; options without a value are left out. A password is not shown: it has to be put back. */
export function commandLine(words: readonly string[], options: readonly Option[]): string {
  const given = options.flatMap(([name, value]) => (value === undefined ? [] : [name, quoted(maskedUrls(value))]));
  return ["pawl", ...words, ...given].join(" ");
}

/** What `--model` said, as far as the log tells. */
export function lastModel(entries: readonly LogEntry[]): string {
  const started = entries.findLast(({ event }) => event.type === "step.started" && event.header !== undefined);
  return started?.event.type === "step.started" && started.event.header
    ? modelWord(started.event.header.model)
    : anyModel;
}

const anyModel = "PROVIDER:ID";

function modelWord(model: ModelRef): string {
  const [provider = ""] = model.provider.split(".", 1);
  // A program drove it with a model that the command line does not know.
  return Object.hasOwn(endpoints, provider) ? wordOf(model) : anyModel;
}

/** Below a command: the address of a server is the machine's, not the session's, and no log tells it. */
export function addressNotes(model: string): string[] {
  return model.startsWith("openai-chat:") ? ["  with --base-url as before, where it is a server of your own"] : [];
}

/** Where it does not matter with which model. */
export function goOnCommandOf(session: string, store: string | undefined): string {
  return commandLine(
    [newInput],
    [
      ["--session", session],
      ["--model", anyModel],
      ["--store", store],
    ],
  );
}
