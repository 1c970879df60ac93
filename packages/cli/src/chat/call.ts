/** Calls as they are shown: one line and the last of its output while it runs, one line and an excerpt when it has ended. */
import type { EventOf } from "@pawl/core";
import { excerptOf } from "../excerpt.ts";
import { counted, seconds, ticking } from "../style.ts";
import { callWords, outputText } from "../words.ts";
import { type Block, flat, toneSpan } from "./block.ts";
import { cutLine, type Line, type Look, span, widthOf } from "./span.ts";

export interface Call {
  id: string;
  tool: string;
  /** The argument text as the model gave it. */
  input: string;
  words: string;
  reads: boolean;
  /** Monotonic; absent: not entered. */
  since?: number;
  output: string;
}

/** Rows of a running command's output. */
const tailRows = 4;
const wordsWidth = 200;

export function callOf(id: string, tool: string, input: string): Call {
  return { id, tool, input, words: callWords(tool, input, wordsWidth), reads: false, output: "" };
}

/** As it was given; what is no JSON stays text. */
export function parsedInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

export function runningLines(call: Call, width: number, now: number): Line[] {
  const lasted = now - (call.since ?? now);
  const time = lasted < 1000 ? "" : ` · ${ticking(lasted)}`;
  const head = cutLine([toneSpan("strong", `→ ${call.words}`)], Math.max(8, width - widthOf(time)));
  const tail = call.output.trimEnd().split("\n").slice(-tailRows);
  const rows =
    call.output.trim() === "" ? [] : tail.map((each) => cutLine([toneSpan("quiet", `  │ ${flat(each)}`)], width));
  return [[...head, toneSpan("quiet", time)], ...rows];
}

export function settledBlocks(call: Call, { output, durationMs = 0, by }: EventOf<"tool.settled">): Block[] {
  const text = outputText(output).trimEnd();
  const lines = text === "" ? [] : text.split("\n");
  const facts = [
    ...(call.reads && !output.isError ? [counted(lines.length, "line")] : []),
    ...(durationMs >= 950 ? [seconds(durationMs)] : []),
    ...(by === "tool" ? [] : [by]),
  ];
  const sign = output.isError ? toneSpan("bad", `✗ ${call.words}`) : toneSpan("good", `✓ ${call.words}`);
  const head: Block = { type: "call", line: [sign], facts: facts.length > 0 ? ` · ${facts.join(" · ")}` : "" };
  // What was only looked at is the model's to read; what changed something is the person's, too.
  if (call.reads && !output.isError) return [head];
  const isDiff = lines.some((each) => each.startsWith("@@ "));
  const excerpt = isDiff ? excerptOfDiff(lines) : excerptOf(lines, call.tool === "bash");
  return [
    head,
    ...excerpt.map(
      (each): Block => ({ type: "row", line: [span("  │ ", "dim"), span(flat(each), ...lookOf(each, isDiff))] }),
    ),
  ];
}

/** A change is looked at more closely than other output. */
const diffRows = 40;

function excerptOfDiff(lines: readonly string[]): string[] {
  const left = lines.length - diffRows;
  return left <= 0 ? [...lines] : [...lines.slice(0, diffRows), `… ${counted(left, "more line")}`];
}

export function lookOf(text: string, isDiff: boolean): Look[] {
  if (!isDiff) return ["dim"];
  if (text.startsWith("+")) return ["green"];
  if (text.startsWith("-")) return ["red"];
  return text.startsWith("@@") ? ["cyan"] : ["dim"];
}
