/** `pawl erase ID SEQ`: the content of one record goes, for what should never have been recorded. The log stays whole. */
import { erasePayloadOf, type LogEntry, type LogEvent, PawlError, type Runtime } from "@pawl/core";
import { addressOf } from "./address.ts";
import { elsewhereWords, keysOf, outputsElsewhere, removeOutputs } from "./command-output-files.ts";
import { type ConsentOptions, consented, demandConsent } from "./consent.ts";
import { exitOfOutcome } from "./exit.ts";
import { readable } from "./readable.ts";
import { everySession } from "./session-pages.ts";
import { columnsOf, cut, moment, printable, toned, wrapped } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";
import { callWords, inputText, outputText } from "./words.ts";

/** Enough to see that it is the right one. */
const shownLines = 12;

export function eraseRecord(address: string, seq: number, options: VisitOptions & ConsentOptions): Promise<number> {
  demandConsent("erasing a record cannot be undone", options);
  return visitStore(options, async (runtime) => {
    const session = await addressOf(runtime, address);
    const { entries } = await readable(runtime, session);
    const entry = entryAt(entries, session, seq);
    if (await wasErased(runtime, session, seq)) {
      const driven = await drivenForks(runtime, session, seq);
      told(options, { session, seq, type: entry.event.type, drivenForks: driven }, "was erased before");
      if (!options.json) process.stderr.write(linesOf(drivenWords(driven)));
      return 0;
    }
    if (!options.json) process.stderr.write(described(entry));
    if (!(await consented("Erase this content? This cannot be undone.", options))) {
      process.stderr.write("nothing was erased\n");
      return exitOfOutcome("aborted");
    }
    await erasePayloadOf(runtime.store, runtime.holder, session, seq);
    const { event } = entry;
    const outputs =
      event.type === "tool.settled" ? await removeOutputs(options.store, keysOf(entries, session, event.call)) : 0;
    const files = outputs > 0 ? ", its output beside the log, too" : "";
    const driven = await drivenForks(runtime, session, seq);
    told(options, { session, seq, type: event.type, drivenForks: driven }, `is erased${files}`);
    const elsewhere =
      event.type === "tool.settled" ? outputsElsewhere(options.store, entries, session, event.call) : [];
    const title = (await runtime.store.get(session))?.head.title;
    const left = leftWords(session, event, title, elsewhere);
    if (!options.json) process.stderr.write(linesOf([...drivenWords(driven), ...left]));
    return 0;
  });
}

function entryAt(entries: readonly LogEntry[], session: string, seq: number): LogEntry {
  const entry = entries.find((each) => each.seq === seq);
  if (!entry) {
    const what = `session ${session} has no record ${seq} that can be read`;
    throw new PawlError(
      "INVALID_INPUT",
      `${what}; pawl show ${session} numbers them, 1 to ${entries.at(-1)?.seq ?? 0}`,
    );
  }
  if (entry.session !== session) {
    const what = `record ${seq} of session ${session} belongs to ${entry.session}, which it was forked from`;
    throw new PawlError("INVALID_INPUT", `${what}; pawl erase ${entry.session} ${seq} erases it for both`);
  }
  if (contentOf(entry.event) === undefined) {
    const what = `record ${seq} is ${entry.event.type}, which holds no content to erase`;
    throw new PawlError("INVALID_INPUT", `${what}; pawl show ${session} tells which records hold what`);
  }
  return entry;
}

async function wasErased({ store }: Runtime, session: string, seq: number): Promise<boolean> {
  const [record] = await store.read(session, { after: seq - 1, limit: 1 });
  return record?.seq === seq && !(record.payload instanceof Uint8Array);
}

/** Forks that begin with the record and are being driven: their drivers have read it, maybe before it was erased. */
async function drivenForks({ store }: Runtime, session: string, seq: number): Promise<string[]> {
  const forks: string[] = [];
  for await (const { session: fork, parent, lease } of everySession(store)) {
    if (!parent || !lease) continue;
    const [record] = await store.read(fork, { after: seq - 1, limit: 1 });
    if (record?.session === session && record.seq === seq && fork !== session) forks.push(fork);
  }
  return forks;
}

function drivenWords(forks: readonly string[]): string[] {
  return forks.map(
    (fork) =>
      `Session ${fork} begins with it and is being driven: until that drive ends, its requests may still say it. Stop it, or wait`,
  );
}

/** An erasure reaches one record; its words may have gone further. */
function leftWords(
  session: string,
  event: LogEvent,
  title: string | undefined,
  elsewhere: readonly string[],
): string[] {
  const begins = title === undefined ? "" : title.replace(/…$/, "");
  const titled = event.type === "input.accepted" && begins !== "" && inputText(event.content).trim().startsWith(begins);
  return [
    ...(titled ? [`The session's title was made from it and still says: ${title}`] : []),
    ...elsewhereWords(elsewhere),
    `What other records, exports and backups say of it is still there: look with pawl show ${session} --json`,
  ];
}

function linesOf(said: readonly string[]): string {
  return said.map((each) => `${wrapped(each, process.stderr)}\n`).join("");
}

function described({ seq, time, event }: LogEntry): string {
  const { stderr } = process;
  const lines = (contentOf(event) ?? "").trimEnd().split("\n");
  const width = Math.max(20, columnsOf(stderr) - 5);
  const shown = lines.slice(0, shownLines).map((each) => `  │ ${cut(printable(each).replaceAll("\t", "  "), width)}`);
  if (lines.length > shownLines) shown.push(`  │ … ${lines.length - shownLines} more lines`);
  const head = toned("strong", `record ${seq}, ${event.type}, ${moment(time)}`, stderr);
  return [head, ...shown, ""].join("\n");
}

/** What would be gone, as a person reads it. Undefined: nothing in it may be erased. */
function contentOf(event: LogEvent): string | undefined {
  switch (event.type) {
    case "input.accepted":
      return inputText(event.content);
    case "message.committed":
      return messageText(event.parts);
    case "attempt.ended":
      return event.fragment || event.notes
        ? [messageText(event.fragment ?? []), ...(event.notes ?? [])].join("\n")
        : undefined;
    case "tool.entered":
      return enteredText(event);
    case "tool.settled":
      return outputText(event.output);
    case "turn.ended":
      return event.output === undefined ? undefined : JSON.stringify(event.output);
    case "context.compacted":
      return inputText(event.summary);
    case "note.recorded":
      return event.data === undefined ? event.text : `${event.text}\n${JSON.stringify(event.data)}`;
    default:
      return undefined;
  }
}

function enteredText({ tool, input, site }: Extract<LogEvent, { type: "tool.entered" }>): string | undefined {
  const said = [...(input === undefined ? [] : [callWords(tool, input, 200)]), ...(site ? [site.where] : [])];
  return said.length === 0 ? undefined : said.join("\n");
}

function messageText(parts: Extract<LogEvent, { type: "message.committed" }>["parts"]): string {
  const texts = parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    return part.type === "tool-call" ? callWords(part.tool, part.input, 200) : `[${part.type}]`;
  });
  return texts.join("\n");
}

function told(
  options: VisitOptions,
  facts: { session: string; seq: number; type: string; drivenForks: readonly string[] },
  words: string,
): void {
  const { session, seq } = facts;
  const line = options.json ? JSON.stringify({ ok: true, ...facts }) : `record ${seq} of session ${session} ${words}`;
  process.stdout.write(`${line}\n`);
}
