/** What a worker says of its work on standard error, a line for each thing a person would want to know; `--json`: on standard output. */
import { isPawlError, type LiveItem, type PendingApproval, type WorkerEvent } from "@pawl/core";
import { maskedUrls } from "../masked-url.ts";
import { commandLine } from "../next-command.ts";
import { columnsOf, cut, line, moment, printable, seconds, type Tone, toned } from "../style.ts";
import { callWords, decisionWords, failureWords, outcomeWords, pausedWords, resumedWords } from "../words.ts";
import type { Seat } from "./workbench.ts";

export interface JournalOptions {
  json?: boolean;
  store?: string;
}

export class Journal {
  readonly #options: JournalOptions;
  /** Of a session, why it was last left alone: said once, not every fifteen seconds. */
  readonly #left = new Map<string, string>();
  readonly #began = new Map<string, number>();

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** About the worker itself. */
  say(tone: Tone, text: string): void {
    if (this.#options.json) process.stderr.write(`pawl: ${maskedUrls(text)}\n`);
    else this.#line(tone, text);
  }

  told(event: WorkerEvent, seat: Seat | undefined): void {
    if (this.#options.json) return this.#print(facts(event));
    switch (event.type) {
      case "claimed":
        this.#began.set(event.session, performance.now());
        if (event.takesOver !== undefined)
          this.#about(event.session, "warn", "↻ a turn was left open: going on inside it");
        return;
      case "ended":
        return this.#ended(event);
      case "released":
        this.#began.delete(event.session);
        return void this.#left.delete(event.session);
      case "handed-over":
        return this.#about(event.session, "quiet", "→ handed over between two steps");
      case "parked":
        return this.#parked(event.session, event.error, seat);
      case "lost":
        return this.#about(event.session, "warn", `! its drive broke off: ${reason(event.error)}`);
      case "store-away":
        return this.#line(
          "bad",
          `! the store is away: ${reason(event.error)}; what is driven goes on as far as it can`,
        );
      case "store-back":
        return this.#line("good", "✓ the store is back");
    }
  }

  heard(session: string, item: LiveItem, seat: Seat | undefined): void {
    if (item.type === "approval.pending") return this.asked(session, item.approval);
    if (this.#options.json) return;
    if (item.type === "paused") return this.#about(session, "warn", `! ${pausedWords(item.reason)}`);
    if (item.type === "resumed") return this.#about(session, "good", resumedWords);
    if (item.type === "warning") return this.#about(session, "warn", `! ${item.text}`);
    if (item.type !== "entry") return;
    const { event } = item.entry;
    if (event.type === "turn.started") {
      this.#began.set(session, performance.now());
      this.#left.delete(session);
      const title = seat?.title === undefined ? "" : `${line(seat.title, 60)} · `;
      this.#about(session, "plain", `▸ ${title}${seat?.cwd ?? ""}`);
    }
    if (event.type === "attempt.ended" && event.failure && event.failure.kind !== "aborted") {
      const then = event.decision ? `; ${decisionWords(event.decision, 1, undefined)}` : "";
      this.#about(session, "warn", `  ${failureWords(event.failure)}${then}`);
    }
  }

  /** Also of the session of a task: it is answered there. */
  asked(session: string, approval: PendingApproval): void {
    const { tool, input } = approval;
    if (this.#options.json) return this.#print({ type: "asked", session, ...approval });
    this.#about(session, "warn", `? ${callWords(tool, input, 120)} waits for an answer`);
    // Whole: it is meant to be pasted.
    const answer = commandLine(["answer", session, "yes"], [["--store", this.#options.store]]);
    this.#write("quiet", `${" ".repeat(2)}${answer}`);
  }

  #ended({ session, outcome }: Extract<WorkerEvent, { type: "ended" }>): void {
    const began = this.#began.get(session);
    const took = began === undefined ? "" : ` · ${seconds(performance.now() - began)}`;
    const good = outcome.type === "completed";
    this.#about(session, good ? "good" : "bad", `${good ? "✓" : "✗"} ${outcomeWords(outcome)}${took}`);
  }

  #parked(session: string, error: unknown, seat: Seat | undefined): void {
    // A post that nobody waits for, such as the late result of a call that was given up: no news for anybody.
    if (error === undefined) return;
    const why = reason(error);
    if (this.#left.get(session) === why) return;
    this.#left.set(session, why);
    const title = seat?.title === undefined ? "" : `${line(seat.title, 40)}: `;
    this.#about(session, "warn", `– left alone: ${title}${why}`);
  }

  #about(session: string, tone: Tone, text: string): void {
    this.#line(tone, `${session}  ${text}`);
  }

  #line(tone: Tone, text: string): void {
    const { stderr } = process;
    const clean = printable(maskedUrls(text)).replaceAll("\n", " ");
    // What is wrong is said to its end.
    const whole = tone === "warn" || tone === "bad" || !stderr.isTTY;
    this.#write(tone, whole ? clean : cut(clean, columnsOf(stderr) - clockChars));
  }

  /** A log collector brings its own clock. */
  #write(tone: Tone, text: string): void {
    const { stderr } = process;
    const clock = stderr.isTTY ? toned("quiet", `${moment(Date.now()).slice(11)}  `, stderr) : "";
    stderr.write(`${clock}${toned(tone, text, stderr)}\n`);
  }

  #print(value: object): void {
    process.stdout.write(`${JSON.stringify(value)}\n`);
  }
}

const clockChars = 11;

function reason(error: unknown): string {
  if (isPawlError(error) || error instanceof Error) return error.message;
  return String(error);
}

/** Without what is no fact. */
function facts(event: WorkerEvent): object {
  const { live: _, error, ...rest } = { live: undefined, error: undefined, ...event };
  return error === undefined ? rest : { ...rest, error: maskedUrls(reason(error)) };
}
