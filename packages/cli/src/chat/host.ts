/**
 * What a chat drives sessions with: the runtime, a folder, a model that may be chosen late, servers, and who is asked.
 *
 * The person's side of a question is a promise here; the keys that settle it are the desk's.
 */
import { spawnSync } from "node:child_process";
import {
  type Agent,
  type ApprovalAnswer,
  type LogEntry,
  PawlError,
  type PermissionQuestion,
  type Runtime,
  type TurnResult,
} from "@pawl/core";
import { adviceOn } from "../advice.ts";
import { codingAgent, type Person } from "../agent.ts";
import type { Effective } from "../config/layer.ts";
import { type Mode, modes } from "../config/schema.ts";
import { proposedGrant } from "../grant.ts";
import { namedServers } from "../mcp/named-servers.ts";
import type { ConnectedServers } from "../mcp/servers.ts";
import { hostsIn, hostsOfInputs } from "../named-hosts.ts";
import { lastModel } from "../next-command.ts";
import type { RunOptions } from "../run.ts";
import { type Setup, sandboxOf, setUp } from "../setup.ts";
import { seenText } from "../style.ts";
import { TaskWatch } from "../task-watch.ts";
import type { Asker } from "../tools/ask.ts";
import type { AnswerWord } from "./desk.ts";
import type { Facts } from "./frame.ts";

export type ChatOptions = Omit<RunOptions, "session" | "forkFrom" | "json"> & {
  /** Lines in, lines out; nothing is drawn again. */
  plain?: boolean;
};

interface Asked {
  question: PermissionQuestion;
  resolve(answer: ApprovalAnswer): void;
}

/** A question that is answered in words. */
interface OpenQuestion {
  choices: readonly string[];
  resolve(answer: string | undefined): void;
}

/** Signals of the time in which the terminal was lent are told within this. */
const lentMs = 100;

export class Host implements Person {
  readonly runtime: Runtime;
  readonly cwd: string;
  readonly options: ChatOptions;
  readonly tasks = new TaskWatch();
  /** Hears of a question that wants words. */
  onQuestion: (question: string, choices: readonly string[]) => void = () => {};
  /** Hears what a person has to know of the configuration, each once. */
  onNotice: (text: string) => void = () => {};
  allAllowed = false;
  /** Gives the terminal to another program for as long as `run` takes. */
  lend: ((run: () => void) => void) | undefined;
  /** Another program has the terminal, or had it a moment ago: signals that came meanwhile are told only now. */
  isLending = false;
  readonly #dir: string;
  /** By call: who waits for an answer. */
  readonly #asked = new Map<string, Asked>();
  readonly #open: OpenQuestion[] = [];
  readonly #named = new Set<string>();
  readonly #noticed = new Set<string>();
  readonly #closed = new AbortController();
  #servers: Promise<ConnectedServers | undefined> | undefined;
  #word: string | undefined;
  #mode: Mode | undefined;
  #values: Effective | undefined;
  #keyEnv: string | undefined;

  constructor(runtime: Runtime, dir: string, cwd: string, options: ChatOptions) {
    this.runtime = runtime;
    this.#dir = dir;
    this.cwd = cwd;
    this.options = options;
    this.#word = options.model;
  }

  /** As `--model` takes it; empty: none is chosen yet. */
  get model(): string {
    return this.#word ?? "";
  }

  /** What the status line says of it. `model`: what the session says, where none is chosen. */
  facts(model: string): Facts {
    const windowTokens = this.options.window ?? this.#values?.window;
    const permission = this.allAllowed ? "all" : this.#values?.mode;
    return {
      model: this.model || model,
      ...(windowTokens === undefined ? {} : { windowTokens }),
      ...(permission === undefined ? {} : { permission }),
    };
  }

  /** From the next turn on. Fails with INVALID_INPUT for a word that is no mode. */
  async useMode(word: string): Promise<void> {
    const mode = modes.find((each) => each === word);
    if (!mode) throw new PawlError("INVALID_INPUT", `${seenText(word)} is no mode; use one of ${modes.join(", ")}`);
    this.#mode = mode;
    this.allAllowed = false;
    await this.#setUp(this.#wanted());
  }

  /** Fails with INVALID_INPUT for a word that names no model. */
  async choose(word: string): Promise<void> {
    await this.#setUp({ ...this.options, model: word });
    this.#word = word;
  }

  /** What was said before in a session that is opened. Without a choice, it goes on with its own model where that needs no address. */
  suppose(entries: readonly LogEntry[]): void {
    for (const host of hostsOfInputs(entries)) this.#named.add(host);
    const last = lastModel(entries);
    if (this.#word === undefined && this.options.local === undefined && /^(openai|anthropic):/.test(last))
      this.#word = last;
  }

  /** Which model it will be is settled and told. Fails with INVALID_INPUT where there is none. */
  async prepare(): Promise<void> {
    await this.#setUp(this.#wanted());
  }

  /** Fails with INVALID_INPUT where no model is chosen, or its key is missing. */
  async agent(): Promise<{ agent: Agent; url: string }> {
    const setup = await this.#setUp(this.#wanted());
    const sandbox = await sandboxOf(setup, this.cwd, this.#dir);
    if (sandbox.notice !== undefined) this.#notice(sandbox.notice);
    this.#servers ??= namedServers({
      configured: setup.config.values.mcpServers,
      file: this.options.mcpConfig,
      cwd: this.cwd,
      signal: this.#closed.signal,
      warn: (text) => this.#notice(text),
    });
    const serverTools = await (await this.#servers)?.tools();
    const agent = codingAgent({
      runtime: this.runtime,
      setup,
      sandbox,
      cwd: this.cwd,
      dir: this.#dir,
      store: this.options.store,
      person: this,
      tasks: this.tasks,
      named: this.#named,
      ...(serverTools ? { serverTools } : {}),
    });
    return { agent, url: setup.chosen.url };
  }

  readonly approver: Person["approver"] = (question, signal) => {
    if (this.allAllowed) return Promise.resolve({ answer: "allow", by: "terminal" });
    const { promise, resolve, reject } = Promise.withResolvers<ApprovalAnswer>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    this.#asked.set(question.call, { question, resolve });
    return promise.finally(() => this.#asked.delete(question.call));
  };

  readonly asker: Asker = ({ question, choices }, signal) => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const open = { choices, resolve };
    this.#open.push(open);
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (this.#open.length === 1) this.onQuestion(question, choices);
    return promise.finally(() => {
      signal.removeEventListener("abort", onAbort);
      this.#open.splice(this.#open.indexOf(open), 1);
    });
  };

  /** Answers a call that this process asked about. False: it did not. */
  answer(call: string, answer: AnswerWord, reason?: string): boolean {
    if (answer === "all") this.allAllowed = true;
    const asked = this.#asked.get(call);
    if (!asked) return false;
    const { input } = proposedGrant(asked.question);
    asked.resolve({
      answer: answer === "deny" ? "deny" : "allow",
      by: "terminal",
      ...(answer === "always" ? { scope: "session", ...(input === undefined ? {} : { input }) } : {}),
      ...(reason === undefined ? {} : { reason }),
    });
    // Whatever else is asked has its answer, too.
    if (answer === "all") for (const other of this.#asked.values()) other.resolve({ answer: "allow", by: "terminal" });
    return true;
  }

  /**
   * What the person says: the hosts in it may be fetched from. Where the model's own question is open, it is the answer, in
   * words or as the number of a choice. False: there is none.
   */
  reply(text: string): boolean {
    for (const host of hostsIn(text)) this.#named.add(host);
    const [open] = this.#open;
    open?.resolve(open.choices[Number(text.trim()) - 1] ?? text);
    return open !== undefined;
  }

  /** Runs `pawl` with these words in this terminal, until it ends. False: there is none to run it in. */
  aside(words: readonly string[]): boolean {
    const { lend } = this;
    if (!lend) return false;
    const program = [process.argv[1] ?? "", ...words];
    const { store } = this.options;
    // Not as an argument: that of a server may hold a password, and everybody sees arguments.
    const env = store === undefined ? process.env : { ...process.env, PAWL_STORE: store };
    this.isLending = true;
    lend(() => void spawnSync(process.execPath, program, { stdio: "inherit", env }));
    setTimeout(() => {
      this.isLending = false;
    }, lentMs);
    return true;
  }

  /** What to do after a turn that did not complete. `url`: where the model was asked. */
  advice({ outcome, failure, session }: TurnResult, url = ""): string[] {
    if (outcome.type === "completed" || outcome.type === "aborted") return [];
    const chosen = { url, keyEnv: this.#keyEnv ?? "the environment" };
    return adviceOn({ outcome, failure, chosen, session, options: this.#wanted() }).hints;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await (await this.#servers?.catch(() => undefined))?.close();
  }

  #wanted(): ChatOptions {
    const { yes, ...others } = this.options;
    return {
      ...(this.#mode === undefined ? this.options : { ...others, mode: this.#mode }),
      ...(this.#word === undefined ? {} : { model: this.#word }),
    };
  }

  async #setUp(options: ChatOptions): Promise<Setup> {
    const setup = await setUp(options, this.cwd);
    this.#word ??= setup.chosen.word;
    this.#keyEnv = setup.chosen.keyEnv;
    this.#values = setup.config.values;
    const { word, why } = setup.chosen;
    if (why !== undefined) this.#notice(`${word}: ${why}`);
    for (const words of setup.notices) this.#notice(words);
    return setup;
  }

  #notice(text: string): void {
    if (this.#noticed.has(text)) return;
    this.#noticed.add(text);
    this.onNotice(text);
  }
}
