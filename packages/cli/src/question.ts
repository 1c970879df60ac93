/**
 * Asking the person at the terminal whether a call may run.
 *
 * A question waits until the view has come to it: what led to it is on the screen before it is asked. They are asked one
 * after the other: an answer is for the one that is on the screen.
 */
import { createInterface } from "node:readline";
import type { ApprovalAnswer, Approver, PermissionQuestion } from "@pawl/core";
import { type Grant, proposedGrant } from "./grant.ts";
import { line, printable, toned } from "./style.ts";
import type { Asker } from "./tools/ask.ts";
import { callWords } from "./words.ts";

/** Lines of what is to be run or written; more would push the question off a small screen. */
const shownLines = 20;

export class Questions {
  /** The person has said yes to everything in this run. */
  allAllowed = false;
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();
  /** Settles when the terminal is free. */
  #free: Promise<unknown> = Promise.resolve();

  /** Without a terminal there is nobody to ask: the runtime then denies at once and says so. */
  static get possible(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  /** The view stands before the question on this call. */
  reached(call: string): void {
    this.#place(call).resolve();
  }

  readonly approver: Approver = (question, signal) => this.#inTurn(() => this.#approve(question, signal));

  /** An answer may be the number of a choice. */
  readonly asker: Asker = ({ call, question, choices }, signal) =>
    this.#inTurn(async () => {
      signal.throwIfAborted();
      await this.#onScreen(call, signal);
      const lines = [question, ...choices.map((choice, at) => `  ${at + 1}. ${choice}`)].map((each) => printable(each));
      process.stderr.write(`${toned("warn", `? ${lines.join("\n")}`, process.stderr)}\n  Your answer: `);
      const answer = await nextLine(signal);
      if (answer === undefined) process.stderr.write("\n");
      return choices[Number(answer?.trim()) - 1] ?? answer;
    });

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answer = this.#free.then(ask);
    this.#free = answer.catch(() => {});
    return answer;
  }

  async #approve(question: PermissionQuestion, signal: AbortSignal): Promise<ApprovalAnswer> {
    // Answered elsewhere, or stopped, while another was on the screen.
    signal.throwIfAborted();
    await this.#onScreen(question.call, signal);
    if (this.allAllowed) return { answer: "allow", by: "terminal" };
    const grant = proposedGrant(question);
    const always = printable(line(grant.words, 60));
    process.stderr.write(
      `${asked(question)}  Allow this? [y]es, [a]lways (${always}), all in this run, [N]o or why not: `,
    );
    const said = await nextLine(signal);
    if (said === undefined) process.stderr.write("\n");
    const answer = answerOf(said, grant);
    this.allAllowed ||= answer === "all";
    return answer === "all" ? { answer: "allow", by: "terminal" } : answer;
  }

  async #onScreen(call: string, signal: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([this.#place(call).promise, promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #place(call: string): PromiseWithResolvers<void> {
    const known = this.#reached.get(call) ?? Promise.withResolvers<void>();
    this.#reached.set(call, known);
    return known;
  }
}

/** Of a reason as much as a model needs. */
const reasonChars = 500;

/** What a typed line means; whatever is no plain yes is a no, and its words are the reason that the model is told. */
export function answerOf(said: string | undefined, grant: Grant): ApprovalAnswer | "all" {
  if (said === undefined) return { answer: "deny", by: "nobody", reason: "no answer was given" };
  const words = said.trim();
  if (/^y(es)?$/i.test(words)) return { answer: "allow", by: "terminal" };
  if (/^all$/i.test(words)) return "all";
  if (/^a(lways)?$/i.test(words))
    return { answer: "allow", by: "terminal", scope: "session", ...(grant.input ? { input: grant.input } : {}) };
  const why = printable(words.replace(/^no?\b[\s,.:;-]*/i, "")).slice(0, reasonChars);
  return { answer: "deny", by: "terminal", ...(why === "" ? {} : { reason: `a person denied this call: ${why}` }) };
}

/** Undefined when the input ends or the signal aborts. */
export function nextLine(signal: AbortSignal): Promise<string | undefined> {
  // Ended once (Ctrl-D), it never speaks again: a question to it would wait for ever.
  if (process.stdin.readableEnded) return Promise.resolve(undefined);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  // Not as a terminal of readline's: that would swallow Ctrl-C.
  const terminal = createInterface({ input: process.stdin, terminal: false });
  const onAbort = () => resolve(undefined);
  // An error: the terminal is gone, or no longer ours to read from. That is no answer, and no crash.
  terminal.once("line", resolve).once("close", onAbort).on("error", onAbort);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return promise.finally(() => {
    signal.removeEventListener("abort", onAbort);
    terminal.close();
  });
}

export function asked({ tool, input }: PermissionQuestion): string {
  const text = JSON.stringify(input) ?? "";
  const lines = questionDetail(input);
  const shown = lines.slice(0, shownLines).map((each) => toned("plain", `  │ ${printable(each)}`, process.stderr));
  if (lines.length > shownLines) shown.push(`  │ … ${lines.length - shownLines} more lines`);
  return `${toned("warn", `? ${callWords(tool, text, 72)}`, process.stderr)}\n${shown.map((each) => `${each}\n`).join("")}`;
}

/** What a person has to see before a yes: the whole command, the edits, the content. */
export function questionDetail(input: unknown): string[] {
  const { command, edits, content } = (input ?? {}) as { [name: string]: unknown };
  if (typeof command === "string") return command.split("\n");
  if (typeof content === "string") return content.split("\n");
  if (!Array.isArray(edits)) return [JSON.stringify(input) ?? ""];
  return edits.flatMap((edit: unknown) => {
    const { old, new: replacement } = (edit ?? {}) as { [name: string]: unknown };
    return [...marked("-", old), ...marked("+", replacement)];
  });
}

function marked(sign: string, text: unknown): string[] {
  return typeof text === "string" && text !== "" ? text.split("\n").map((each) => `${sign} ${each}`) : [];
}
