/**
 * A session as the chat tells it: live items and entries in, blocks to print and the state of the moment out.
 *
 * Pure but for its own state: the same items at the same times give the same screen. Owns: what is told, and when it is
 * final. Does not own: keys, the composer, how a screen is drawn.
 */
import type { Books, EventOf, Fold, LiveItem, LogEntry, Outcome, PendingApproval } from "@pawl/core";
import { type Child, ChildLines } from "../child-lines.ts";
import { proposedGrant } from "../grant.ts";
import { questionDetail } from "../question.ts";
import { counted, seconds } from "../style.ts";
import {
  booksWords,
  type CompactionCause,
  compactionWords,
  decisionWords,
  failureWords,
  inputText,
  outcomeWords,
  pausedWords,
  resumedWords,
  strippedWords,
  summaryFailureWords,
} from "../words.ts";
import { Answer, brokenThought } from "./answer.ts";
import { type Block, flat, gap, told, toneSpan } from "./block.ts";
import { type Call, callOf, lookOf, parsedInput, settledBlocks } from "./call.ts";
import { span } from "./span.ts";

export interface Question {
  approval: string;
  digest?: string;
  call: Call;
  /** What an *always* would allow, in words. */
  always: string;
  /** Since when it stands on the screen. */
  since: number;
}

export interface Retry {
  /** Monotonic. */
  until: number;
  attempt: number;
  most: number | undefined;
}

/** What it counts with. Handed in: the first frame is drawn before the runtime is loaded. */
export interface Counting {
  books: Fold<Books>;
  attemptsPerStep: number;
}

/** Lines of what is to be allowed: it is printed whole where it is not longer. */
const detailLines = 200;
/** Of a running command, enough for the rows that are shown. */
const outputChars = 4_000;
/** Of an input that stands above. */
const inputLines = 12;

export class Story {
  /** Where the model is asked, for what is wrong at an address. */
  url: string | undefined;
  model = "";
  answer: Answer | undefined;
  /** Entered and not settled, in order. */
  readonly running = new Map<string, Call>();
  /** Entered by a driver that is gone, and not settled. */
  readonly doubtful = new Map<string, Call>();
  readonly questions: Question[] = [];
  retry: Retry | undefined;
  paused: string | undefined;
  turn: string | undefined;
  outcome: Outcome | undefined;
  /** Tokens of the last request and its answer: what the next one begins with. */
  contextTokens: number | undefined;
  books: Books | undefined;
  /** Monotonic: since when nothing but the model has been waited for. */
  since = 0;
  sumsUp = false;
  lastThought = "";
  #turnBooks: Books | undefined;
  readonly #counting: Counting | undefined;
  #startedAt = 0;
  #attempts = 0;
  #cause: CompactionCause = "crowded";
  readonly #calls = new Map<string, Call>();
  readonly #children = new ChildLines({ line: (tone, text) => this.add(told(tone, text)), asks: () => {} });
  #blocks: Block[];
  #recent: LogEntry[] = [];

  /** `blocks`: told already, and not printed yet. */
  constructor(counting?: Counting, blocks: readonly Block[] = []) {
    this.#counting = counting;
    this.#blocks = [...blocks];
    this.books = counting?.books.init();
  }

  /** The entries of the last turn. */
  get recent(): readonly LogEntry[] {
    return this.#recent;
  }

  /** What happened before: the last turn is told again, as much of it as `most` blocks hold. */
  recall(entries: readonly LogEntry[], most: number, now: number): void {
    const before = this.taken();
    const started = entries.findLastIndex(({ event }) => event.type === "turn.started");
    const first = entries.findLastIndex(({ event }, at) => at < started && event.type === "turn.ended") + 1;
    for (const entry of entries.slice(0, first)) this.#entry(entry, now);
    this.taken();
    for (const entry of entries.slice(first)) this.#entry(entry, now);
    const told = this.taken();
    this.add(...before);
    if (told.length > most)
      this.add({ type: "line", line: [toneSpan("quiet", "… what came before is in `pawl show`")] });
    this.add(...told.slice(-most));
  }

  /** What is to be printed since this was asked last. */
  taken(): Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  add(...blocks: Block[]): void {
    this.#blocks.push(...blocks);
  }

  /** Nobody drives: nothing is under way. What is asked can still be answered. */
  rest(): void {
    this.retry = undefined;
    this.paused = undefined;
    this.answer = undefined;
    for (const [id, call] of this.running) this.doubtful.set(id, call);
    this.running.clear();
  }

  /** The last thought, in full. False where there is none. */
  tellThought(): boolean {
    const thought = this.lastThought.trim();
    if (thought !== "") this.add(gap, ...thought.split("\n").map((each) => told("quiet", `│ ${each}`)), gap);
    return thought !== "";
  }

  see(item: LiveItem, now: number): void {
    switch (item.type) {
      case "entry":
        return this.#entry(item.entry, now);
      case "part.started":
      case "part.delta":
      case "part.ended":
        if (this.answer?.attempt === item.attempt && !this.sumsUp) this.answer.hear(item, now);
        return;
      case "approval.pending":
        return this.#ask(item.approval, now);
      case "tool.progress":
        return this.#progress(item.call, item.data);
      case "paused":
        this.paused = item.reason;
        return this.add(
          told("warn", `! ${pausedWords(item.reason)}`),
          told("warn", "  It goes on by itself once there is room. Esc gives up."),
        );
      case "resumed":
        this.paused = undefined;
        return this.add(told("good", `✓ ${resumedWords}`));
      case "warning":
        return this.add(told("warn", `! ${item.text}`));
    }
  }

  /** What happens in a task's own session: a line for each call, and its questions, which are answered here. */
  seeChild(item: LiveItem, child: Child, now: number): void {
    this.#children.show(item, child);
    if (item.type === "approval.pending") this.#ask(item.approval, now);
    if (item.type !== "entry") return;
    const { event } = item.entry;
    if (event.type === "approval.resolved") this.#resolved(event, now);
    if (event.type === "tool.settled") this.#over(({ call: { id } }) => id === event.call, now);
  }

  #entry(entry: LogEntry, now: number): void {
    this.#count(entry);
    if (entry.event.type === "turn.started") this.#recent = [];
    this.#recent.push(entry);
    const { event, time } = entry;
    switch (event.type) {
      case "input.accepted":
        return this.#input(event);
      case "turn.started":
        this.turn = event.turn;
        this.outcome = undefined;
        this.#startedAt = time;
        this.since = now;
        if (event.continues !== undefined) this.add(gap, told("quiet", "going on from the turn before"));
        return;
      case "step.started":
        this.#attempts = 0;
        this.#cause = "crowded";
        return this.add(gap);
      case "attempt.started":
        return this.#attemptStarted(event, now);
      case "attempt.ended":
        return this.#attemptEnded(event, now);
      case "message.committed":
        return this.#committed(event, now);
      case "turn.ended":
        return this.#turnEnded(event, time);
      default:
        return this.#other(entry, now);
    }
  }

  #count(entry: LogEntry): void {
    const fold = this.#counting?.books;
    if (!fold) return;
    if (entry.event.type === "turn.started") this.#turnBooks = fold.init();
    this.books = fold.step(this.books ?? fold.init(), entry);
    this.#turnBooks = fold.step(this.#turnBooks ?? fold.init(), entry);
  }

  #other({ event }: LogEntry, now: number): void {
    switch (event.type) {
      case "approval.requested":
        return this.#ask({ approval: event.approval, call: event.call, digest: event.digest }, now);
      case "approval.resolved":
        return this.#resolved(event, now);
      case "tool.entered":
        return this.#entered(event, now);
      case "tool.settled":
        return this.#settled(event, now);
      case "context.compacted":
        return this.add(told("strong", `↓ ${compactionWords(event, this.#cause)}`));
      case "provider-state.stripped":
        return this.add(told("warn", `! ${strippedWords(event)}`));
      case "note.recorded":
        return this.add(told("quiet", `note: ${event.text}`));
      default:
        return;
    }
  }

  #input({ kind, content }: EventOf<"input.accepted">): void {
    const lines = inputText(content).split("\n");
    const sign = kind === "steer" ? "» " : "› ";
    const shown = lines.slice(0, inputLines);
    if (lines.length > inputLines) shown.push(`… ${counted(lines.length - inputLines, "more line")}`);
    this.add(gap);
    for (const [at, text] of shown.entries())
      this.add({ type: "line", line: [toneSpan("strong", at === 0 ? sign : "  "), toneSpan("strong", text)], hang: 2 });
    this.add(gap);
  }

  #attemptStarted({ attempt, number, model, purpose }: EventOf<"attempt.started">, now: number): void {
    this.#attempts = number;
    this.retry = undefined;
    this.model = model.id;
    this.sumsUp = purpose === "compaction";
    this.answer = new Answer(attempt);
    this.since = now;
  }

  #attemptEnded(event: EventOf<"attempt.ended">, now: number): void {
    const { end, failure, decision, usage, attempt } = event;
    if (!this.sumsUp && usage.input !== undefined) this.contextTokens = usage.input + (usage.output ?? 0);
    if (end === "committed") return;
    const answer = this.answer?.attempt === attempt ? this.answer : undefined;
    this.answer = undefined;
    if (answer?.thought) this.lastThought = answer.thought;
    const withdrawn = end === "discarded" || decision?.action === "discard";
    if (this.sumsUp) this.add(gap);
    else if (end === "sealed") this.add(brokenThought());
    else if (withdrawn && answer?.isPrinted) this.add(gap, told("warn", "── the words above are withdrawn ──"));
    else if (withdrawn && answer?.text.trim())
      this.add({
        type: "line",
        line: [toneSpan("warn", "⌫ withdrawn: "), span(flat(answer.quote), "dim", "strikethrough")],
      });
    else if (withdrawn && answer?.thought) this.add(brokenThought());
    else if (answer) this.add(...answer.remains(now), gap);
    if (!failure || failure.kind === "aborted") return;
    if (decision?.action === "compact") this.#cause = "refused";
    const words = (this.sumsUp ? summaryFailureWords : failureWords)(failure, this.url);
    this.add(told(end === "failed" ? "bad" : "warn", `✗ ${words}`));
    if (!decision) return;
    // Answers that deliver nothing have a budget of their own, counted apart from the attempts.
    const most = failure.kind === "empty" ? undefined : this.#counting?.attemptsPerStep;
    this.add(told("quiet", `  ${decisionWords(decision, this.#attempts, most)}`));
    this.add(gap);
    this.since = now;
    if (decision.delayMs > 0) this.retry = { until: now + decision.delayMs, attempt: this.#attempts + 1, most };
  }

  #committed({ parts, attempt }: EventOf<"message.committed">, now: number): void {
    const answer = this.answer?.attempt === attempt ? this.answer : new Answer(attempt);
    const thought = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("\n");
    if (thought.trim() !== "") this.lastThought = thought;
    this.add(gap, ...answer.rest(parts, now));
    this.answer = undefined;
    this.since = now;
    for (const part of parts)
      if (part.type === "tool-call") this.#calls.set(part.id, callOf(part.id, part.tool, part.input));
    if (parts.some(({ type }) => type === "tool-call")) this.add(gap);
  }

  #ask(
    { approval, call: id, digest, tool, input }: Partial<PendingApproval> & { approval: string; call: string },
    now: number,
  ): void {
    if (this.questions.some((question) => question.approval === approval)) return;
    const call = this.#calls.get(id) ?? callOf(id, tool ?? "a tool", input ?? "{}");
    this.#calls.set(id, call);
    const always = proposedGrant({ call: id, tool: call.tool, input: parsedInput(call.input), effect: "write" }).words;
    this.questions.push({ approval, call, always, since: now, ...(digest === undefined ? {} : { digest }) });
    this.add(gap, told("warn", `? ${call.words}`), ...detailBlocks(call));
  }

  #resolved({ approval, answer, by, reason }: EventOf<"approval.resolved">, now: number): void {
    if (!this.#over((question) => question.approval === approval, now)) return;
    const why = reason === undefined ? "" : `: ${flat(reason)}`;
    this.add(told("quiet", `  ${answer === "allow" ? "allowed" : "denied"} by ${by}${why}`));
  }

  /** The next one stands there from now on: the key that answered this one must not answer it, too. */
  #over(isMeant: (question: Question) => boolean, now: number): boolean {
    const at = this.questions.findIndex(isMeant);
    if (at < 0) return false;
    this.questions.splice(at, 1);
    const [next] = this.questions;
    if (at === 0 && next) next.since = now;
    return true;
  }

  #entered({ call: id, tool, effect }: EventOf<"tool.entered">, now: number): void {
    const call = this.#calls.get(id) ?? callOf(id, tool, "{}");
    call.reads = effect === "read";
    call.since = now;
    this.#calls.set(id, call);
    this.running.set(id, call);
    this.doubtful.delete(id);
  }

  #progress(id: string, data: unknown): void {
    const { output } = (data ?? {}) as { output?: unknown };
    const call = this.running.get(id);
    if (call && typeof output === "string") call.output = `${call.output}${output}`.slice(-outputChars);
  }

  #settled(event: EventOf<"tool.settled">, now: number): void {
    const call = this.#calls.get(event.call) ?? callOf(event.call, event.call, "{}");
    this.running.delete(event.call);
    this.doubtful.delete(event.call);
    this.#over(({ call: { id } }) => id === event.call, now);
    this.add(...settledBlocks(call, event));
  }

  #turnEnded({ outcome, failure }: EventOf<"turn.ended">, time: number): void {
    this.turn = undefined;
    this.outcome = outcome;
    this.retry = undefined;
    this.paused = undefined;
    this.answer = undefined;
    this.running.clear();
    this.doubtful.clear();
    this.questions.length = 0;
    const good = outcome.type === "completed";
    const [cost = "", ...lost] = this.#turnBooks ? booksWords(this.#turnBooks) : [];
    const took = seconds(Math.max(0, time - this.#startedAt));
    this.add(gap, told(good ? "good" : "bad", `${good ? "✓" : "✗"} ${outcomeWords(outcome)} · ${took} · ${cost}`));
    for (const words of lost) this.add(told("quiet", `  ${words}`));
    if (!good && failure && failure.kind !== "aborted") this.add(told("bad", `  ${failureWords(failure, this.url)}`));
  }
}

function detailBlocks({ input, words }: Call): Block[] {
  const lines = questionDetail(parsed(input));
  // Said already, in full.
  if (lines.length === 1 && words.endsWith(` ${lines[0]}`)) return [];
  const isDiff = lines.every((each) => /^[-+] /.test(each));
  const shown = lines.slice(0, detailLines).map(
    (each): Block => ({
      type: "line",
      line: [span("  │ ", "dim"), span(flat(each), ...(isDiff ? lookOf(each, true) : []))],
      hang: 4,
    }),
  );
  if (lines.length > detailLines)
    shown.push(told("warn", `  │ … ${counted(lines.length - detailLines, "more line")}, not shown`));
  return shown;
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
