/** `pawl show`, `pawl verify`: reading, without writing anything. */
import {
  booksFold,
  type LogEntry,
  openSession,
  type PawlError,
  type PendingApproval,
  type QueuedInput,
  runFold,
  type SessionSummary,
  verify,
  type WorkspaceWait,
  workspaceWait,
} from "@pawl/core";
import { addressOf, calledBy } from "./address.ts";
import { holderWords } from "./driver-watch.ts";
import { exitOfError, lawBroken } from "./exit.ts";
import { addressNotes, commandLine, lastModel } from "./next-command.ts";
import { readable } from "./readable.ts";
import { columnsOf, counted, line, moment, printable, type Tone, toned, wrapped } from "./style.ts";
import { printEntry } from "./summary.ts";
import { Timeline } from "./timeline.ts";
import { type VisitOptions, visitStore } from "./visit.ts";
import { booksWords, callWords, inputText, waitWords } from "./words.ts";

const out = process.stdout;

function print(tone: Tone, text: string): void {
  command(tone, wrapped(text, out));
}

/** As it is, so that it can be pasted. */
function command(tone: Tone, text: string): void {
  out.write(`${toned(tone, text, out)}\n`);
}

export function showSession(address: string, options: VisitOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const id = await addressOf(runtime, address);
    const { entries, damage } = await readable(runtime, id);
    const timeline = new Timeline(out);
    for (const entry of entries) {
      if (options.json) printEntry(entry);
      else timeline.add(entry);
    }
    if (!options.json) {
      printBooks(entries);
      const session = await openSession(runtime, id);
      const summary = await runtime.store.get(id);
      printWaiting(await session.queue(), summary);
      if (summary) {
        const called = await calledBy(runtime, address, id);
        if (printNext(called, summary, entries, options) === "driven")
          printAsked(called, await session.pendingApprovals(), options);
      }
    }
    return damage ? tellDamage(id, entries, damage) : 0;
  });
}

function printBooks(entries: readonly LogEntry[]): void {
  const books = runFold(booksFold, entries);
  const counts = [counted(entries.length, "event"), counted(books.turns, "turn"), counted(books.steps, "step")];
  const [cost = "", ...lost] = booksWords(books);
  print("quiet", `\n${[...counts, counted(books.tools, "tool run"), cost].join(" · ")}`);
  for (const words of lost) print("quiet", words);
}

/** Posted, and in no turn yet. */
function printWaiting(queue: readonly QueuedInput[], { waitingSince }: Partial<SessionSummary> = {}): void {
  if (queue.length === 0) return;
  const since = waitingSince === undefined ? "" : ` since ${moment(waitingSince)}`;
  const who = "a worker, or the next run, resume or continue, takes it up first.";
  print("warn", `${counted(queue.length, "input")} not begun${since}: ${who}`);
  for (const { id, kind, content } of queue) {
    const head = `  ${id} ${kind}: `;
    print("quiet", `${head}${line(inputText(content), Math.max(20, columnsOf(out) - head.length))}`);
  }
}

/** A driver that waits for a person goes on with the answer. */
function printAsked(session: string, questions: readonly PendingApproval[], { store }: VisitOptions): void {
  const [first] = questions;
  if (!first) return;
  const more = questions.length > 1 ? ` and ${counted(questions.length - 1, "question")} more` : "";
  const call = callWords(first.tool, first.input, 100);
  print("warn", `it waits for an answer, since ${moment(first.askedAt)}: ${call}${more}. To see it whole and answer:`);
  command("warn", `  ${commandLine(["answer", session], [["--store", store]])}`);
}

/** What can be done with a session that stands still before its end. */
function printNext(
  session: string,
  summary: SessionSummary,
  entries: readonly LogEntry[],
  options: VisitOptions,
): "driven" | undefined {
  const { head, lease } = summary;
  const waits = workspaceWait(summary);
  if (waits) {
    printWorker(waits, options);
    if (head.openTurn === undefined) return undefined;
  }
  if (head.openTurn !== undefined && lease) {
    print("strong", `running, by ${holderWords(lease.holder)}`);
    return "driven";
  }
  const model = lastModel(entries);
  const store: [string, string | undefined] = ["--store", options.store];
  const lineOf = (verb: string) => commandLine([verb, session], [["--model", model], store]);
  if (head.openTurn !== undefined) {
    const where = waits ? ", on a machine that has the workspace" : "";
    print(
      "warn",
      `interrupted: its process is gone, nothing recorded is lost. A worker goes on inside the turn${where}, or:`,
    );
    for (const words of [`  ${lineOf("resume")}`, ...addressNotes(model)]) command("warn", words);
    print("quiet", "A new `pawl run --session`, or `pawl continue`, closes it first.");
    return undefined;
  }
  if (head.outcome === undefined || head.outcome === "completed") return undefined;
  print("warn", `the last turn ended as ${head.outcome}. To go on from there:`);
  if (head.outcome === "context-full" || head.outcome === "overflow")
    command("warn", `  ${commandLine(["compact", session], [store])}`);
  for (const words of [`  ${lineOf("continue")}`, ...addressNotes(model)]) command("warn", words);
  return undefined;
}

/** A name that a terminal would not show as it is, cannot be pasted either. */
function printWorker(waits: WorkspaceWait, { store }: VisitOptions): void {
  const { workspace } = waits;
  const words = `it ${waitWords(waits)}; none that has it has taken it up.`;
  if (printable(workspace) !== workspace || workspace.includes("\n")) return print("warn", words);
  print("warn", `${words} Where its files are:`);
  command(
    "warn",
    `  ${commandLine(
      ["worker"],
      [
        ["--workspace", workspace],
        ["--store", store],
      ],
    )}`,
  );
}

/** One line on standard error, whatever was shown before. */
function tellDamage(id: string, entries: readonly LogEntry[], damage: PawlError): number {
  const last = entries.at(-1)?.seq ?? 0;
  process.stderr.write(
    `pawl: session ${id} is readable up to record ${last} and damaged after it (${damage.message.replace(/; .*/, "")}); ` +
      `go on in a copy: pawl run --fork-from ${id}:N, N an ended turn\n`,
  );
  return exitOfError(damage);
}

export function verifySession(address: string, options: VisitOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const id = await addressOf(runtime, address);
    const { entries, damage } = await readable(runtime, id);
    const verdicts = verify(entries);
    const broken = verdicts.filter(({ violations }) => violations.length > 0);
    if (options.json) {
      const ok = broken.length === 0 && !damage;
      const told = damage ? { damage: { code: damage.code, message: damage.message } } : {};
      out.write(`${JSON.stringify({ ok, session: id, events: entries.length, verdicts, ...told })}\n`);
    } else {
      printVerdicts(verdicts);
      const state = damage ? "then the damage" : "checksums good";
      const count = `${counted(entries.length, "event")}, ${state}, ${broken.length} of ${verdicts.length} laws broken`;
      print(broken.length === 0 && !damage ? "quiet" : "bad", count);
    }
    if (damage) return tellDamage(id, entries, damage);
    return broken.length === 0 ? 0 : lawBroken;
  });
}

function printVerdicts(verdicts: ReturnType<typeof verify>): void {
  for (const { law, title, violations } of verdicts) {
    const good = violations.length === 0;
    print(good ? "good" : "bad", `${good ? "✓" : "✗"} ${law.padEnd(3)} ${title}`);
    for (const { seq, message } of violations) print("bad", `      at ${seq}: ${message}`);
  }
}
