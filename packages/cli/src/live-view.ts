/**
 * A turn as a person sees it while it happens.
 *
 * On a terminal, words appear as they come; what is withdrawn cannot be unprinted, so a clear break says so. Into a
 * pipe, standard output gets committed text only, and the story goes to standard error.
 */
import { capText, type EventOf, type LiveItem, type LogEntry, textOf } from "@pawl/core";
import { printable, seconds, type Tone, toned } from "./style.ts";
import { callWords, decisionWords, failureWords, outputText } from "./words.ts";

/** Lines of a tool's output that are shown; the whole is in the log. */
const shownLines = 8;

export class LiveView {
  readonly #text: NodeJS.WriteStream;
  readonly #story: NodeJS.WriteStream;
  /** Whether words are shown before they are committed. */
  readonly #live: boolean;
  /** The part whose words the cursor stands behind. */
  #part: string | undefined;
  #kinds = new Map<string, string>();
  #saidText = false;
  #attempts = 0;
  readonly #calls = new Map<string, string>();

  constructor(text: NodeJS.WriteStream, story: NodeJS.WriteStream) {
    this.#text = text;
    this.#story = text.isTTY ? text : story;
    this.#live = text.isTTY === true;
  }

  show(item: LiveItem): void {
    switch (item.type) {
      case "entry":
        return this.#entry(item.entry);
      case "part.started":
        this.#kinds.set(item.part, item.kind);
        return;
      case "part.delta":
        return this.#delta(item.part, item.text);
      case "warning":
        return this.line("warn", `! ${item.text}`);
      case "part.ended":
      case "tool.progress":
        return;
    }
  }

  /** A line of the story, on its own. */
  line(tone: Tone, text: string): void {
    this.#endPart();
    this.#story.write(`${toned(tone, printable(text), this.#story)}\n`);
  }

  #entry({ event }: LogEntry): void {
    switch (event.type) {
      case "step.started":
        this.#attempts = 0;
        return;
      case "attempt.started":
        this.#attempts = event.number;
        this.#saidText = false;
        return;
      case "attempt.ended":
        return this.#attemptEnded(event);
      case "message.committed":
        return this.#committed(event);
      case "tool.entered":
        return this.line("strong", `→ ${this.#calls.get(event.call) ?? event.tool}`);
      case "tool.settled":
        return this.#settled(event);
      default:
        return;
    }
  }

  #delta(part: string, text: string): void {
    const kind = this.#kinds.get(part);
    if (!this.#live || (kind !== "text" && kind !== "reasoning")) return;
    if (this.#part !== part) {
      this.#endPart();
      this.#part = part;
    }
    if (kind === "text") this.#saidText = true;
    this.#text.write(toned(kind === "reasoning" ? "quiet" : "plain", printable(text), this.#text));
  }

  #endPart(): void {
    if (this.#part !== undefined) this.#text.write("\n");
    this.#part = undefined;
  }

  #attemptEnded({ end, failure, decision }: EventOf<"attempt.ended">): void {
    this.#kinds.clear();
    if (end === "committed" || !failure) return;
    this.#endPart();
    if (end === "discarded" && this.#saidText) this.line("warn", "── the words above are withdrawn ──");
    this.line(end === "failed" ? "bad" : "warn", `✗ ${failureWords(failure)}`);
    if (decision && failure.kind !== "aborted") this.line("quiet", `  ${decisionWords(decision, this.#attempts)}`);
  }

  #committed({ parts }: EventOf<"message.committed">): void {
    this.#endPart();
    const text = textOf(parts);
    if (!this.#live && text.trim() !== "") this.#text.write(`${text.trimEnd()}\n`);
    for (const part of parts)
      if (part.type === "tool-call") this.#calls.set(part.id, callWords(part.tool, part.input, 110));
  }

  #settled({ call, output, durationMs, by }: EventOf<"tool.settled">): void {
    const words = this.#calls.get(call) ?? call;
    const took = durationMs === undefined ? "" : ` (${seconds(durationMs)})`;
    const name = words.split(" ")[0] ?? words;
    const how = by === "tool" ? "" : ` [${by}]`;
    this.line(output.isError ? "bad" : "good", `  ${output.isError ? "✗" : "✓"} ${name}${took}${how}`);
    const lines = capText(outputText(output).trimEnd(), 4_000).split("\n");
    for (const shown of lines.slice(0, shownLines)) this.line("quiet", `  │ ${shown.slice(0, 160)}`);
    if (lines.length > shownLines) this.line("quiet", `  │ … ${lines.length - shownLines} more lines`);
  }
}
