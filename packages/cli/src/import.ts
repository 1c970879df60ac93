/**
 * `pawl import FILE`: an exported session byte for byte, or a conversation that another program has kept. Whole or not
 * at all.
 */
import { createReadStream } from "node:fs";
import {
  type ForeignFormat,
  importSession,
  importTranscript,
  type ModelRef,
  PawlError,
  type Runtime,
} from "@pawl/core";
import { chooseModel } from "./model.ts";
import { openStore } from "./open-store.ts";
import type { TransferOptions } from "./transfer.ts";

const formats: readonly (ForeignFormat | "pawl")[] = ["pawl", "ai-sdk", "openai-chat", "anthropic"];

export interface ImportOptions extends TransferOptions {
  session?: string;
  /** Default: read from what the file holds. */
  format?: string;
  /** `PROVIDER:ID`, of whatever gave the answers: its signatures are kept for it. */
  model?: string;
  /** What the session that is made needs. */
  workspace?: string;
}

interface Imported {
  session: string;
  format: ForeignFormat | "pawl" | "text";
  messages?: number;
}

export async function importFromFile(path: string, options: ImportOptions): Promise<number> {
  const format = formatOf(options.format);
  const model = await modelOf(options.model);
  const input = createReadStream(path, "utf8");
  await new Promise<void>((resolve, reject) => {
    input.once("open", () => resolve());
    input.once("error", (error) => reject(new PawlError("INVALID_INPUT", `cannot read ${path} (${error.message})`)));
  });
  const runtime = await openStore(options.store);
  try {
    const taken = await takeIn(runtime, linesOf(input), {
      format,
      model,
      session: options.session,
      workspace: options.workspace,
    });
    say(options, path, taken);
    return 0;
  } finally {
    input.destroy();
    await runtime.store.close();
  }
}

async function takeIn(
  runtime: Runtime,
  lines: AsyncGenerator<string, void>,
  {
    format,
    model,
    session,
    workspace,
  }: {
    format: ForeignFormat | "pawl" | undefined;
    model: ModelRef | undefined;
    session: string | undefined;
    workspace: string | undefined;
  },
): Promise<Imported> {
  const first = await lines.next();
  const all = chain(first.done ? [] : [first.value], lines);
  const given = {
    ...(session === undefined ? {} : { session }),
    ...(workspace === undefined ? {} : { workspace }),
  };
  if (format === "pawl" || (format === undefined && isExported(first.value ?? ""))) {
    const { store, effects } = runtime;
    return { session: await importSession(store, all, { ...given, now: effects.clock.now() }), format: "pawl" };
  }
  const taken = await importTranscript(runtime, all, {
    ...given,
    ...(format === undefined ? {} : { format }),
    ...(model === undefined ? {} : { model }),
  });
  return { session: taken.session, format: taken.format ?? "text", messages: taken.messages };
}

/** What `pawl export` writes begins with a header. In the words of a message, the quotes would be escaped. */
function isExported(line: string): boolean {
  return /"pawl"\s*:\s*"session"/.test(line);
}

function formatOf(format: string | undefined): ForeignFormat | "pawl" | undefined {
  const known = formats.find((each) => each === format);
  if (known !== undefined || format === undefined) return known;
  throw new PawlError("INVALID_INPUT", `--format ${JSON.stringify(format)}: write one of ${formats.join(", ")}`);
}

/** As the AI SDK names it; no request is made, so no key is needed. */
async function modelOf(model: string | undefined): Promise<ModelRef | undefined> {
  if (model === undefined) return undefined;
  const { provider, modelId: id } = (await chooseModel({ model, baseUrl: "http://127.0.0.1" })).model;
  return { provider, id };
}

async function* chain(first: readonly string[], rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  yield* first;
  yield* rest;
}

/** More is no conversation, and soon more than a text may have here. */
const lineChars = 2 ** 28;

/** Newlines alone end a line: other programs' line readers also break at signs that may stand inside JSON text. */
async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest: string[] = [];
  let chars = 0;
  let line = 1;
  for await (const chunk of input) {
    const [head = "", ...more] = chunk.split("\n");
    rest.push(head);
    chars += head.length;
    if (chars > lineChars) {
      const why = `line ${line}: longer than ${lineChars} characters, and no line of an export is; nothing was imported`;
      throw new PawlError("INVALID_INPUT", why);
    }
    for (const text of more) {
      yield rest.join("");
      rest = [text];
      chars = text.length;
      line += 1;
    }
  }
  yield rest.join("");
}

function say({ json }: TransferOptions, file: string, { session, format, messages }: Imported): void {
  if (json) {
    const counted = messages === undefined ? {} : { format, messages };
    process.stdout.write(`${JSON.stringify({ ok: true, session, file, ...counted })}\n`);
    return;
  }
  const counted = messages === 1 ? "1 message" : `${messages} messages`;
  const from = messages === undefined ? file : `${counted} of ${file}, read as ${format}`;
  process.stdout.write(`imported session ${session} from ${from}\n`);
}
