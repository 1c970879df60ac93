/** `pawl show`: a log as a timeline, one fact a line: its number, the time since its turn began, what it says. */
import type { EventOf, LogEntry, LogEvent } from "@pawl/core";
import { columnsOf, counted, cut, line, moment, printable, seconds, type Tone, toned } from "./style.ts";
import {
  type CompactionCause,
  callWords,
  compactionWords,
  failureWords,
  inputText,
  outcomeWords,
  outputText,
  strippedWords,
  summaryFailureWords,
} from "./words.ts";

const seqWidth = 5;
const timeWidth = 11;

export class Timeline {
  readonly #out: NodeJS.WriteStream;
  readonly #width: number;
  #turnAt: number | undefined;
  #attempt = 0;
  #sumsUp = false;
  #cause: CompactionCause = "crowded";
  readonly #calls = new Map<string, string>();
  readonly #asked = new Map<string, { at: number; call: string }>();

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    // A pipe cuts nothing but what is long beyond reading: who greps wants whole lines.
    this.#width = out.isTTY ? columnsOf(out) : 200;
  }

  add(entry: LogEntry): void {
    for (const each of this.#take(entry)) this.#out.write(`${each}\n`);
  }

  /** What came before, and is not told again: calls are named by the message that asked for them. */
  know(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#take(entry);
  }

  #take({ seq, time, event }: LogEntry): string[] {
    if (event.type === "turn.started") this.#turnAt = time;
    const at = this.#turnAt === undefined || event.type === "turn.started" ? "" : seconds(time - this.#turnAt);
    const lines = this.#lines(event, time).map(([tone, text], index) => {
      const place = index === 0 ? `${String(seq).padStart(seqWidth)} ${at.padStart(timeWidth)}` : "";
      const head = place.padEnd(seqWidth + timeWidth + 1);
      const shown = cut(printable(text).replaceAll("\t", "  "), Math.max(20, this.#width - head.length - 2));
      return `${toned("quiet", head, this.#out)}  ${toned(tone, shown, this.#out)}`;
    });
    if (event.type === "turn.ended") this.#turnAt = undefined;
    return lines;
  }

  #lines(event: LogEvent, time: number): [Tone, string][] {
    switch (event.type) {
      case "session.created": {
        const from = event.parent ? `, forked from ${event.parent.session} at ${event.parent.seq}` : "";
        const task = event.labels?.["parent"] === undefined ? "" : `, a task of ${event.labels["parent"]}`;
        return [["strong", `session${event.cwd ? ` in ${event.cwd}` : ""}${from}${task}, ${moment(time)}`]];
      }
      case "input.accepted":
        return [["plain", `${event.kind}: ${line(inputText(event.content), this.#width)}`]];
      case "turn.started": {
        const continues = event.continues === undefined ? "" : `, continues ${event.continues}`;
        return [["strong", `turn ${event.turn}, ${moment(time)}${continues}`]];
      }
      case "turn.ended":
        return this.#turnEnded(event);
      case "step.started":
        this.#cause = "crowded";
        return [["plain", `step ${event.number}`]];
      case "step.ended":
        return event.failure ? [["bad", `step failed: ${failureWords(event.failure)}`]] : [["quiet", "step ended"]];
      case "attempt.started":
        this.#attempt = event.number;
        this.#sumsUp = event.purpose === "compaction";
        return [["quiet", `  ${this.#request()}, ${event.model.provider}:${event.model.id}`]];
      case "attempt.ended":
        return this.#attemptEnded(event);
      case "message.committed":
        return this.#message(event);
      default:
        return this.#other(event, time);
    }
  }

  #other(event: LogEvent, time: number): [Tone, string][] {
    switch (event.type) {
      case "approval.requested":
        this.#asked.set(event.approval, { at: time, call: event.call });
        return [["warn", `  asks whether it may: ${this.#call(event.call)}`]];
      case "approval.resolved": {
        const asked = this.#asked.get(event.approval);
        const after = asked ? ` after ${seconds(time - asked.at)}` : "";
        return [["quiet", `  ${event.answer === "allow" ? "allowed" : "denied"} by ${event.by}${after}`]];
      }
      case "tool.entered":
        return [["quiet", `  → ${this.#call(event.call, event.tool)} (${event.effect})`]];
      case "tool.settled":
        return [this.#settled(event)];
      case "context.compacted":
        return this.#compacted(event);
      case "provider-state.stripped":
        return [["warn", `  ${strippedWords(event)}`]];
      case "log.repaired":
        return [["warn", `  the log was repaired between ${event.from} and ${event.to}: ${event.reason}`]];
      case "snapshot.recorded":
        return [["quiet", "  the folder's files are kept as they are now: `pawl undo` can go back to here"]];
      case "note.recorded":
        return [["warn", `  note: ${event.text}`]];
      default:
        return [["quiet", `  ${event.type}`]];
    }
  }

  #turnEnded({ outcome, failure }: EventOf<"turn.ended">): [Tone, string][] {
    const tone = outcome.type === "completed" ? "good" : "bad";
    const why: [Tone, string][] = failure && failure.kind !== "aborted" ? [[tone, `  ${failureWords(failure)}`]] : [];
    return [[tone, `turn ended: ${outcomeWords(outcome)}`], ...why];
  }

  /** `attempt 2`, and what for where that is not the answer. */
  #request(): string {
    return `attempt ${this.#attempt}${this.#sumsUp ? " (a summary)" : ""}`;
  }

  #compacted(event: EventOf<"context.compacted">): [Tone, string][] {
    const text = inputText(event.summary);
    const says: [Tone, string][] =
      event.by === "drop" || text === "" ? [] : [["quiet", `    ${line(text, this.#width)}`]];
    return [["strong", `  ${compactionWords(event, this.#cause)}`], ...says];
  }

  #attemptEnded({ end, failure, decision, durationMs, usage }: EventOf<"attempt.ended">): [Tone, string][] {
    const about = usage.measure === "estimated" ? "about " : "";
    const tokens = usage.output === undefined ? "" : ` · ${about}${counted(usage.output, "token")} out`;
    const tone = end === "committed" ? "quiet" : "warn";
    const took = durationMs > 0 ? ` after ${seconds(durationMs)}` : "";
    const lines: [Tone, string][] = [[tone, `  ${this.#request()} ${end}${took}${tokens}`]];
    if (decision?.action === "compact") this.#cause = "refused";
    if (failure) lines.push([tone, `    ${this.#sumsUp ? summaryFailureWords(failure) : failureWords(failure)}`]);
    const wait = decision?.delayMs ? `, waits ${seconds(decision.delayMs)}` : "";
    if (failure && decision) lines.push(["quiet", `    ${decision.action}${wait}: ${decision.reason}`]);
    return lines;
  }

  #message({ parts, finish }: EventOf<"message.committed">): [Tone, string][] {
    const lines = parts.flatMap((part): [Tone, string][] => {
      switch (part.type) {
        case "text":
          return [["plain", `  says: ${line(part.text, this.#width)}`]];
        case "reasoning":
          return [["quiet", `  thinks: ${line(part.text, this.#width)}`]];
        case "tool-call":
          this.#calls.set(part.id, callWords(part.tool, part.input, this.#width));
          return [["plain", `  calls ${this.#call(part.id)}`]];
        default:
          return [["quiet", `  ${part.type}`]];
      }
    });
    return lines.length > 0 ? lines : [["quiet", `  an empty message (${finish.reason})`]];
  }

  #settled({ call, output, by, durationMs }: EventOf<"tool.settled">): [Tone, string] {
    const text = outputText(output).trimEnd();
    const lines = text === "" ? 0 : text.split("\n").length;
    const took = durationMs === undefined ? "" : `${seconds(durationMs)} · `;
    const how = by === "tool" ? "" : `by ${by} · `;
    const said = lines === 1 || output.isError ? line(text, this.#width) : counted(lines, "line");
    const tone = output.isError ? "bad" : "quiet";
    return [tone, `  ${output.isError ? "✗" : "✓"} ${took}${how}${this.#name(call)}: ${said}`];
  }

  #call(id: string, otherwise = id): string {
    return this.#calls.get(id) ?? otherwise;
  }

  /** The tool and the start of what it was called with: the whole stands where it was called. */
  #name(id: string): string {
    return cut(this.#call(id), 28);
  }
}
