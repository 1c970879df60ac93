/** What a chat drives sessions with: the runtime, a folder, a model that may be chosen late, and who is asked. */
import { join } from "node:path";
import { type Agent, type ApprovalAnswer, type LogEntry, PawlError, type Runtime } from "@pawl/core";
import { codingAgent } from "../agent.ts";
import { type ChosenModel, chooseModel } from "../model.ts";
import { lastModel } from "../next-command.ts";
import { Questions } from "../question.ts";
import type { RunOptions } from "../run.ts";

export type ChatOptions = Omit<RunOptions, "model" | "session" | "forkFrom" | "json"> & {
  model?: string;
  /** Lines in, lines out; nothing is drawn again. */
  plain?: boolean;
};

export class Host {
  readonly runtime: Runtime;
  readonly cwd: string;
  readonly options: ChatOptions;
  readonly #dir: string;
  readonly #questions = new Questions();
  /** By call: who waits for an answer. */
  readonly #asked = new Map<string, (answer: ApprovalAnswer) => void>();
  #word: string | undefined;

  constructor(runtime: Runtime, dir: string, cwd: string, options: ChatOptions) {
    this.runtime = runtime;
    this.#dir = dir;
    this.cwd = cwd;
    this.options = options;
    this.#word = options.model;
  }

  /** As `--model` takes it; empty: none is chosen. */
  get model(): string {
    return this.#word ?? "";
  }

  /** Throws INVALID_INPUT for a word that names no model. */
  choose(word: string): ChosenModel {
    const chosen = chooseModel({ ...this.options, model: word });
    this.#word = word;
    return chosen;
  }

  /** Without a choice, a session goes on with its own model where that needs no address. */
  suppose(entries: readonly LogEntry[]): void {
    const last = lastModel(entries);
    if (this.#word === undefined && /^(openai|anthropic):/.test(last)) this.#word = last;
  }

  /** Throws INVALID_INPUT where no model is chosen, or its key is missing. */
  agent(): { agent: Agent; url: string } {
    if (this.#word === undefined)
      throw new PawlError(
        "INVALID_INPUT",
        "no model is chosen: /model PROVIDER:ID, for example /model openai:gpt-5, or --model at the start",
      );
    const chosen = this.choose(this.#word);
    const { idleMs, window, yes } = this.options;
    const agent = codingAgent({
      chosen,
      cwd: this.cwd,
      spillDir: join(this.#dir, "spill"),
      commandDir: join(this.#dir, "commands"),
      questions: this.#questions,
      yes: yes === true,
      ...(idleMs === undefined ? {} : { idleMs }),
      ...(window === undefined ? {} : { windowTokens: window }),
    });
    return { agent: { ...agent, approver: ({ call }, signal) => this.#ask(call, signal) }, url: chosen.url };
  }

  /** Answers a call that this process asked about. False: it did not. */
  answer(call: string, answer: "allow" | "all" | "deny", reason?: string): boolean {
    if (answer === "all") this.#questions.allAllowed = true;
    const resolve = this.#asked.get(call);
    if (!resolve) return false;
    resolve({
      answer: answer === "deny" ? "deny" : "allow",
      by: "terminal",
      ...(reason === undefined ? {} : { reason }),
    });
    // Whatever else is asked has its answer, too.
    if (answer === "all") for (const other of this.#asked.values()) other({ answer: "allow", by: "terminal" });
    return true;
  }

  #ask(call: string, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (this.#questions.allAllowed) return Promise.resolve({ answer: "allow", by: "terminal" });
    const { promise, resolve, reject } = Promise.withResolvers<ApprovalAnswer>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    this.#asked.set(call, resolve);
    return promise.finally(() => this.#asked.delete(call));
  }
}
