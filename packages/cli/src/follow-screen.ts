/** Where a session that is followed is shown: to a person as the driver's own terminal shows it, to a program line by line. */
import { booksFold, type EventOf, type LiveItem, type LogEntry, type PendingApproval } from "@pawl/core";
import { type Driver, holderWords } from "./driver-watch.ts";
import { LiveView } from "./live-view.ts";
import { StatusLine } from "./status-line.ts";
import { line, type Tone } from "./style.ts";
import { printEntry } from "./summary.ts";
import { booksWords, callWords, failureWords, inputText, outcomeWords } from "./words.ts";

export interface FollowScreen {
  show(item: LiveItem): void;
  /** What is no item: who drives, and what it waits for. */
  say(tone: Tone, text: string): void;
  /** A command that can be pasted. */
  command(text: string): void;
  end(): void;
}

/** `asks`: whose process asks the question, if that is known. */
function questionWords({ tool, input }: PendingApproval, asks: Driver["holder"]): string {
  return `? ${callWords(tool, input, 120)} waits for an answer${asks ? `, asked by ${holderWords(asks)}` : ""}`;
}

/** Facts as `pawl run --json` prints them; words and questions as what they are, without a `seq`. */
export function programScreen(): FollowScreen {
  return {
    show(item) {
      if (item.type === "entry") printEntry(item.entry);
      else process.stdout.write(`${JSON.stringify(item)}\n`);
    },
    say: (_, text) => void process.stderr.write(`pawl: ${text.replace(/^! /, "")}\n`),
    command: (text) => void process.stderr.write(`${text}\n`),
    end: () => {},
  };
}

/** `before`: what was recorded ahead of what is shown. `driver`: who drives now. `answer`: the command that answers a question. */
export function personScreen(
  before: readonly LogEntry[],
  driver: () => Driver | undefined,
  answer: string,
): FollowScreen {
  const { stdout, stderr } = process;
  const out = stdout.isTTY ? stdout : stderr;
  const status = new StatusLine(out);
  const view = new LiveView({ text: stdout, story: out, status, role: "watches", reached: () => {} });
  view.prime(before);
  // What the turn would do next it does not do without a driver.
  const waits = () => {
    const { isLeft, waits } = driver() ?? {};
    const whom = waits ? "a worker that has the workspace" : "a process that takes the turn over";
    if (isLeft || waits) status.show(() => `waiting for ${whom}`);
  };
  let books = before.reduce(reckoned, booksFold.init());
  return {
    show(item) {
      if (item.type === "entry") books = reckoned(books, item.entry);
      const event = item.type === "entry" ? item.entry.event : undefined;
      if (event?.type === "input.accepted") {
        view.gap();
        view.line("strong", `> ${line(inputText(event.content), 120)}`);
      }
      view.show(item);
      if (item.type === "approval.pending") {
        view.line("warn", questionWords(item.approval, driver()?.holder));
        view.command("quiet", `  To answer from here: ${answer}`);
        status.show(() => "waiting for an answer");
      }
      if (event?.type === "turn.ended") showEnd(view, event, booksWords(books));
      else waits();
    },
    say(tone, text) {
      status.hide();
      view.line(tone, text);
      waits();
    },
    command: (text) => view.command("quiet", text),
    end: () => view.end(),
  };
}

/** Of one turn. */
function reckoned(books: ReturnType<typeof booksFold.init>, entry: LogEntry): ReturnType<typeof booksFold.init> {
  return booksFold.step(entry.event.type === "turn.started" ? booksFold.init() : books, entry);
}

function showEnd(view: LiveView, { outcome, failure }: EventOf<"turn.ended">, [cost, ...lost]: string[]): void {
  const good = outcome.type === "completed";
  view.gap();
  view.line(good ? "good" : "bad", `${good ? "✓" : "✗"} ${outcomeWords(outcome)} · ${cost}`);
  for (const words of lost) view.line("quiet", `  ${words}`);
  if (failure && failure.kind !== "aborted") view.line("bad", `  ${failureWords(failure)}`);
}
