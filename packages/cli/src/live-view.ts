/**
 * A turn as a person sees it while it happens.
 *
 * On a terminal, words appear as they come; what is withdrawn cannot be unprinted, so a clear break says so. Into a
 * pipe, standard output gets committed text only, and the story goes to standard error.
 */
import { type EventOf, type LiveItem, type LogEntry, limit, textOf } from "@pawl/core";
import type { StatusLine } from "./status-line.ts";
import { columnsOf, counted, cut, line, printable, seconds, type Tone, ticking, toned } from "./style.ts";
import { callWords, decisionWords, failureWords, outputText } from "./words.ts";

/** Lines of a tool's output that are shown; the whole is in the log. */
const shownLines = 8;

export interface LiveViewOptions {
  /** What the model says. */
  text: NodeJS.WriteStream;
  /** What happens. The same stream where it is a terminal. */
  story: NodeJS.WriteStream;
  status: StatusLine;
  /** Where the model is asked. */
  url: string;
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
  /** The last thing written was a blank line, or nothing yet. */
  #blank = true;
  readonly #calls = new Map<string, Call>();
  readonly #running = new Set<string>();

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
      case "tool.progress":
        return this.#progress(item.call, item.data);
      case "warning":
        return this.line("warn", `! ${item.text}`);
    }
  }

  /** A line of the story, on its own. */
  line(tone: Tone, text: string): void {
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

  end(): void {
    this.#endPart();
    this.#options.status.hide();
  }

  #entry({ event }: LogEntry): void {
    switch (event.type) {
      case "step.started":
        this.#attempts = 0;
        return this.gap();
      case "attempt.started":
        this.#attempts = event.number;
        this.#shown = "nothing";
        this.#model = event.model.id;
        return this.#waiting();
      case "attempt.ended":
        return this.#attemptEnded(event);
      case "message.committed":
        return this.#committed(event);
      case "approval.requested":
        this.gap();
        this.#options.status.hide();
        this.#blank = false;
        return this.#options.reached(event.call);
      case "tool.entered":
        return this.#entered(event);
      case "tool.settled":
        return this.#settled(event);
      case "turn.ended":
        if (event.outcome.type === "interrupted")
          this.line("warn", "The turn before was interrupted; it is closed now.");
        return this.#options.status.hide();
      default:
        return;
    }
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
    this.#options.status.show((ms) => `waiting for ${this.#model}${since(ms)}`);
  }

  #writing(tool: string): void {
    this.#endPart();
    this.#options.status.show((ms) => `${this.#model} writes a call of ${tool}${since(ms)}`);
  }

  #attemptEnded({ end, failure, decision }: EventOf<"attempt.ended">): void {
    this.#endPart();
    this.#kinds.clear();
    this.#options.status.hide();
    if (end === "committed" || !failure) return;
    if (end === "sealed" || (end === "discarded" && this.#shown === "thought"))
      this.line("warn", "── the thought above broke off ──");
    else if (end === "discarded" && this.#shown === "words") this.line("warn", "── the words above are withdrawn ──");
    else this.gap();
    this.line(end === "failed" ? "bad" : "warn", `✗ ${failureWords(failure, this.#options.url)}`);
    if (!decision || failure.kind === "aborted") return;
    const next = this.#attempts + 1;
    this.line("quiet", `  ${decisionWords(decision, this.#attempts, limit.attemptsPerStep)}`);
    if (decision.delayMs > 0) {
      this.#options.status.show(
        (ms) =>
          `trying again in ${ticking(decision.delayMs - ms + 999)} · attempt ${next} · ${process.stdin.isTTY ? "Enter tries now, " : ""}Ctrl-C stops`,
      );
    }
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

  #showRunning(): void {
    if (this.#running.size === 0) return this.#options.status.hide();
    this.#options.status.show((ms) => {
      const calls = [...this.#running].map((id) => this.#calls.get(id));
      if (calls.length > 1)
        return `running ${calls.length} calls${since(ms)} · ${calls.map((one) => one?.words).join(", ")}`;
      const [call] = calls;
      return `running ${cut(call?.words ?? "", 60)}${since(ms)}${call?.said ? ` · ${call.said}` : ""}`;
    });
  }

  #progress(id: string, data: unknown): void {
    const call = this.#calls.get(id);
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

  /** A command says at its end what became of it; everything else begins with what matters. */
  #excerpt(lines: readonly string[], endMatters: boolean): void {
    const tell = (text: string) => this.line("quiet", this.#fit(`  │ ${text.replaceAll("\t", "  ")}`));
    const left = lines.length - shownLines;
    const head = left <= 0 || !endMatters ? shownLines : 2;
    for (const each of lines.slice(0, head)) tell(each);
    if (left > 0) tell(`… ${counted(endMatters ? left + 1 : left, "more line")}`);
    if (left > 0 && endMatters) for (const each of lines.slice(head + left + 1)) tell(each);
  }

  #fit(text: string, reserved = 0): string {
    return cut(printable(text), Math.max(20, columnsOf(this.#options.story) - reserved));
  }
}

/** The first second goes without saying. */
function since(ms: number): string {
  return ms < 1000 ? "" : ` · ${ticking(ms)}`;
}
