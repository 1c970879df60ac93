/**
 * Asking the person at the terminal whether a call may run.
 *
 * A question waits until the view has come to it: what led to it is on the screen before it is asked.
 */
import { createInterface } from "node:readline";
import type { ApprovalAnswer, Approver, PermissionQuestion } from "@pawl/core";
import { printable, toned } from "./style.ts";
import { callWords } from "./words.ts";

/** Lines of what is to be run or written; more would push the question off a small screen. */
const shownLines = 20;

export class Questions {
  /** The person has said yes to everything in this run. */
  allAllowed = false;
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();

  /** Without a terminal there is nobody to ask: the runtime then denies at once and says so. */
  static get possible(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  /** The view stands before the question on this call. */
  reached(call: string): void {
    this.#place(call).resolve();
  }

  readonly approver: Approver = async (question, signal): Promise<ApprovalAnswer> => {
    await this.#place(question.call).promise;
    if (this.allAllowed) return { answer: "allow", by: "terminal" };
    process.stderr.write(`${asked(question)}  Allow this? [y]es, [a]ll in this run, [N]o: `);
    const answer = await nextLine(signal);
    if (answer === undefined) {
      process.stderr.write("\n");
      return { answer: "deny", by: "nobody", reason: "no answer was given" };
    }
    this.allAllowed ||= /^a(ll)?$/i.test(answer.trim());
    return { answer: this.allAllowed || /^y(es)?$/i.test(answer.trim()) ? "allow" : "deny", by: "terminal" };
  };

  #place(call: string): PromiseWithResolvers<void> {
    const known = this.#reached.get(call) ?? Promise.withResolvers<void>();
    this.#reached.set(call, known);
    return known;
  }
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
