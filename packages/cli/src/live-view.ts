/**
 * A turn as a person sees it while it happens.
 *
 * On a terminal, words appear as they come; what is withdrawn cannot be unprinted, so a clear break says so. Into a
 * pipe, standard output gets committed text only, and the story goes to standard error.
 */
import { type EventOf, isRetracted, type LiveItem, type LogEntry, limit, textOf } from "@pawl/core";
import { excerptOf } from "./excerpt.ts";
import type { StatusLine } from "./status-line.ts";
import { columnsOf, counted, cut, line, printable, seconds, type Tone, ticking, toned, wrapped } from "./style.ts";
import { isAsking } from "./tools/asking.ts";
import {
  type CompactionCause,
  callWords,
  compactionWords,
  decisionWords,
  failureWords,
  outputText,
  pausedWords,
  resumedWords,
  strippedWords,
  summaryFailureWords,
} from "./words.ts";

export interface LiveViewOptions {
  /** What the model says. */
  text: NodeJS.WriteStream;
  /** What happens. The same stream where it is a terminal. */
  story: NodeJS.WriteStream;
  status: StatusLine;
  /** Where the model is asked, if that is known. */
  url?: string;
  /** Whether keys typed here reach the turn: another process's is only watched. Default: `drives`. */
  role?: "drives" | "watches";
  /** The view stands before the question on this call. */
  reached(call: string): void;
}

interface Call {
  words: string;
  tool: string;
  reads: boolean;
  /** The last line of its output so far. */
  said: string;
}

export class LiveView {
  readonly #options: LiveViewOptions;
  /** Whether words are shown before they are committed. */
  readonly #live: boolean;
  /** The part whose words the cursor stands behind. */
  #part: string | undefined;
  readonly #kinds = new Map<string, string>();
  /** What of this attempt a person has read. */
  #shown: "nothing" | "thought" | "words" = "nothing";
  #attempts = 0;
  #model = "the model";
  /** The attempt under way is asked for a summary, which nobody reads. */
  #sumsUp = false;
  #cause: CompactionCause = "crowded";
  #paused = false;
  /** The last thing written was a blank line, or nothing yet. */
  #blank = true;
  readonly #calls = new Map<string, Call>();
  readonly #running = new Set<string>();
  /** Calls whose question has been reached. */
  readonly #asked = new Set<string>();

  constructor(options: LiveViewOptions) {
    this.#options = options;
    this.#live = options.text.isTTY === true;
  }

  /** What came before: a turn that is taken over or closed has calls that are settled only now. */
  prime(entries: readonly LogEntry[]): void {
    for (const { event } of entries) {
      if (event.type === "message.committed") this.#know(event);
      if (event.type === "tool.entered") this.#enter(event);
      if (event.type === "attempt.started") this.#attempts = event.number;
    }
    this.#running.clear();
  }

  show(item: LiveItem): void {
    switch (item.type) {
      case "entry":
        return this.#entry(item.entry);
      case "part.started":
        this.#kinds.set(item.part, item.kind);
        if (item.tool !== undefined) this.#writing(item.tool);
        return;
      case "part.delta":
        return this.#delta(item.part, item.text);
      case "part.ended":
        if (item.part !== this.#part) return;
        this.#endPart();
        return this.#waiting();
      case "approval.pending":
        return this.#asked.has(item.approval.call) ? undefined : this.asks(item.approval.call);
      case "tool.progress":
        return this.#progress(item.call, item.data);
      case "paused":
        return this.#pause(item.reason);
      case "resumed":
        this.#paused = false;
        this.line("good", `✓ ${resumedWords}`);
        return this.#showRunning();
      case "warning":
        return this.line("warn", `! ${item.text}`);
    }
  }

  /** A line of the story, on its own; broken between words where it is too long. */
  line(tone: Tone, text: string): void {
    this.command(tone, wrapped(printable(text), this.#options.story));
  }

  /** As it is, so that it can be pasted. */
  command(tone: Tone, text: string): void {
    this.#endPart();
    const { story, status } = this.#options;
    status.above(() => story.write(`${toned(tone, printable(text), story)}\n`));
    this.#blank = false;
  }

  /** A blank line, unless there is one. */
  gap(): void {
    this.#endPart();
    const { story, status } = this.#options;
    if (!this.#blank) status.above(() => story.write("\n"));
    this.#blank = true;
  }

  /** A question that stood open before this process came is asked again without a new record. */
  asks(call: string): void {
    this.gap();
    this.#options.status.hide();
    this.#blank = false;
    this.#asked.add(call);
    this.#options.reached(call);
  }

  end(): void {
    this.#endPart();
    this.#options.status.hide();
  }

  #entry({ event }: LogEntry): void {
    switch (event.type) {
      case "step.started":
        this.#attempts = 0;
        this.#cause = "crowded";
        return this.gap();
      case "attempt.started":
        return this.#attemptStarted(event);
      case "attempt.ended":
        return this.#attemptEnded(event);
      case "message.committed":
        return this.#committed(event);
      case "approval.requested":
        return this.asks(event.call);
      case "tool.entered":
        return this.#entered(event);
      case "tool.settled":
        return this.#settled(event);
      case "context.compacted":
        return this.line("strong", `↓ ${compactionWords(event, this.#cause)}`);
      case "provider-state.stripped":
        return this.line("warn", `! ${strippedWords(event)}`);
      case "turn.ended":
        if (event.outcome.type === "interrupted")
          this.line("warn", "The turn before was interrupted; it is closed now.");
        return this.#options.status.hide();
      default:
        return;
    }
  }

  /** The words stay, and the line below counts until space returns, whatever else ends meanwhile. */
  #pause(reason: string): void {
    this.line("warn", `! ${pausedWords(reason)}`);
    this.line("warn", "  It goes on by itself once there is room. Ctrl-C gives up; `pawl resume` goes on later.");
    this.#status((ms) => `paused${since(ms)} · waiting for room on the disk`);
    this.#paused = true;
  }

  #attemptStarted({ number, model, purpose }: EventOf<"attempt.started">): void {
    this.#attempts = number;
    this.#shown = "nothing";
    this.#model = model.id;
    this.#sumsUp = purpose === "compaction";
    if (this.#sumsUp && !this.#options.status.works) this.line("quiet", "→ summing up the conversation");
    this.#waiting();
  }

  #delta(part: string, text: string): void {
    const kind = this.#kinds.get(part);
    const { text: out, status } = this.#options;
    if (!this.#live || (kind !== "text" && kind !== "reasoning")) return;
    const tone = kind === "reasoning" ? "quiet" : "plain";
    if (this.#part !== part) {
      this.gap();
      status.hide();
      this.#part = part;
      this.#blank = false;
      // Without colours nothing else would tell a thought from an answer.
      if (kind === "reasoning") out.write(toned(tone, "thinking: ", out));
    }
    if (kind === "text") this.#shown = "words";
    else if (this.#shown === "nothing") this.#shown = "thought";
    out.write(toned(tone, printable(text), out));
  }

  #endPart(): void {
    if (this.#part === undefined) return;
    this.#options.text.write("\n");
    this.#part = undefined;
  }

  #waiting(): void {
    const doing = this.#sumsUp ? "summing up the conversation with" : "waiting for";
    this.#status((ms) => `${doing} ${this.#model}${since(ms)}`);
  }

  #writing(tool: string): void {
    this.#endPart();
    this.#status((ms) => `${this.#model} writes a call of ${tool}${since(ms)}`);
  }

  #attemptEnded(event: EventOf<"attempt.ended">): void {
    const { end, failure, decision } = event;
    this.#endPart();
    this.#kinds.clear();
    this.#options.status.hide();
    if (end === "committed" || !failure) return;
    if (decision?.action === "compact") this.#cause = "refused";
    if (this.#sumsUp) this.gap();
    else if (end === "sealed" || (this.#shown === "thought" && (isRetracted(event) || decision?.action === "seal")))
      this.line("warn", "── the thought above broke off ──");
    else if (isRetracted(event) && this.#shown === "words") this.line("warn", "── the words above are withdrawn ──");
    else this.gap();
    this.line(
      end === "failed" ? "bad" : "warn",
      `✗ ${(this.#sumsUp ? summaryFailureWords : failureWords)(failure, this.#options.url)}`,
    );
    if (!decision || failure.kind === "aborted") return;
    const next = this.#attempts + 1;
    // Answers that deliver nothing have a budget of their own, counted apart from the attempts.
    const most = failure.kind === "empty" ? undefined : limit.attemptsPerStep;
    this.line("quiet", `  ${decisionWords(decision, this.#attempts, most)}`);
    if (decision.delayMs > 0) {
      const keys = this.#keys();
      this.#status((ms) => `trying again in ${ticking(decision.delayMs - ms + 999)} · attempt ${next} · ${keys}`);
    }
  }

  #keys(): string {
    if (this.#options.role === "watches") return "Ctrl-C leaves";
    return `${process.stdin.isTTY ? "Enter tries now, " : ""}Ctrl-C stops`;
  }

  #committed(event: EventOf<"message.committed">): void {
    this.#endPart();
    this.#know(event);
    const text = textOf(event.parts).trim();
    if (!this.#live && text !== "") this.#options.text.write(`${printable(text)}\n`);
    if (event.parts.some((part) => part.type === "tool-call")) this.gap();
  }

  #know({ parts }: EventOf<"message.committed">): void {
    for (const part of parts) {
      if (part.type !== "tool-call") continue;
      const words = callWords(part.tool, part.input, 200);
      this.#calls.set(part.id, { words, tool: part.tool, reads: false, said: "" });
    }
  }

  #enter({ call, effect }: EventOf<"tool.entered">): Call | undefined {
    const known = this.#calls.get(call);
    if (known) known.reads = effect === "read";
    this.#running.add(call);
    return known;
  }

  #entered(event: EventOf<"tool.entered">): void {
    const call = this.#enter(event);
    if (!this.#options.status.works) this.line("strong", this.#fit(`→ ${call?.words ?? event.tool}`));
    this.#showRunning();
  }

  /** What happens now; while nothing can, that stays to be read. */
  #status(text: (elapsedMs: number) => string): void {
    if (!this.#paused) this.#options.status.show(text);
  }

  #showRunning(): void {
    if (this.#running.size === 0 && !this.#paused) return this.#options.status.hide();
    this.#status((ms) => {
      const calls = [...this.#running].map((id) => this.#calls.get(id));
      if (calls.length > 1)
        return `running ${calls.length} calls${since(ms)} · ${calls.map((one) => one?.words).join(", ")}`;
      const [call] = calls;
      return `running ${cut(call?.words ?? "", 60)}${since(ms)}${call?.said ? ` · ${call.said}` : ""}`;
    });
  }

  #progress(id: string, data: unknown): void {
    const call = this.#calls.get(id);
    if (isAsking(data)) return this.asks(id);
    const { output } = (data ?? {}) as { output?: unknown };
    if (call && typeof output === "string") call.said = line(output.trimEnd().split("\n").at(-1) ?? "", 60);
  }

  #settled({ call: id, output, durationMs = 0, by }: EventOf<"tool.settled">): void {
    const call = this.#calls.get(id);
    this.#running.delete(id);
    const text = outputText(output).trimEnd();
    const lines = text === "" ? [] : text.split("\n");
    const facts = [
      ...(call?.reads && !output.isError ? [counted(lines.length, "line")] : []),
      ...(durationMs >= 950 ? [seconds(durationMs)] : []),
      ...(by === "tool" ? [] : [by]),
    ];
    const words = this.#fit(`${output.isError ? "✗" : "✓"} ${call?.words ?? id}`, facts.join(" · ").length + 3);
    this.line(output.isError ? "bad" : "good", [words, ...facts].join(" · "));
    // What was only looked at is the model's to read; what changed something is the person's, too.
    if (!call?.reads || output.isError) this.#excerpt(lines, call?.tool === "bash");
    this.#showRunning();
  }

  #excerpt(lines: readonly string[], endMatters: boolean): void {
    for (const text of excerptOf(lines, endMatters))
      this.line("quiet", this.#fit(`  │ ${text.replaceAll("\t", "  ")}`));
  }

  #fit(text: string, reserved = 0): string {
    return cut(printable(text), Math.max(20, columnsOf(this.#options.story) - reserved));
  }
}

/** The first second goes without saying. */
function since(ms: number): string {
  return ms < 1000 ? "" : ` · ${ticking(ms)}`;
}
