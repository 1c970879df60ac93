/** What commands do with a chat: other sessions, another model, a turn without new words. */
import { PawlError, type Session } from "@pawl/core";
import { addressOf } from "../address.ts";
import { sessionsIn } from "../latest.ts";
import type { ChatHands, TellTone } from "./command.ts";
import type { Host } from "./host.ts";
import type { Start } from "./link.ts";
import { compacted, forkOf, named, opened, rewound, sessionLines } from "./session-choice.ts";

/** The chat as its commands know it. */
export interface HandsPort {
  readonly host: Host;
  readonly session: Session | undefined;
  readonly isBusy: boolean;
  tell(tone: TellTone, text: string): void;
  draw(): void;
  attach(session: Session | undefined): Promise<void>;
  driveWith(start: Start): void;
  stop(): Promise<void>;
  leave(): void;
}

export class Hands implements ChatHands {
  /** Until the chat has moved to another session: what is typed meanwhile is for that one. */
  moving: Promise<void> | undefined;
  readonly #chat: HandsPort;

  constructor(chat: HandsPort) {
    this.#chat = chat;
  }

  get isBusy(): boolean {
    return this.#chat.isBusy;
  }

  tell(tone: TellTone, text: string): void {
    this.#chat.tell(tone, text);
  }

  stop(): Promise<void> {
    return this.#chat.stop();
  }

  leave(): void {
    this.#chat.leave();
  }

  async resume(): Promise<void> {
    this.#chat.driveWith((session, agent, signal) => session.resume(agent, { signal }));
  }

  async goOn(): Promise<void> {
    this.#chat.driveWith((session, agent, signal) => session.continue(agent, { signal }));
  }

  async useModel(word: string): Promise<void> {
    const { host } = this.#chat;
    if (word === "")
      return this.tell(
        "plain",
        host.model === "" ? "no model is chosen: /model PROVIDER:ID" : `the model is ${host.model}`,
      );
    await host.choose(word);
    this.tell("quiet", `from the next turn on: ${word}`);
  }

  async useMode(word: string): Promise<void> {
    await this.#chat.host.useMode(word);
    this.tell("quiet", `from the next turn on: mode ${word}`);
  }

  async compact(): Promise<void> {
    this.tell("quiet", await compacted(this.#needed()));
  }

  async fork(turn: string): Promise<void> {
    const from = this.#needed();
    const child = await forkOf(this.#chat.host.runtime, from, turn);
    this.tell("quiet", `a copy of ${from.id}; that one stays as it is`);
    await this.#chat.attach(child);
  }

  async rewind(turn: string): Promise<void> {
    const from = this.#needed();
    const child = await rewound(this.#chat.host.runtime, from, turn);
    this.tell("quiet", `gone back; the log until now is kept as ${from.id}. Files are as they are`);
    await this.#chat.attach(child);
  }

  async undo(step: string): Promise<void> {
    await this.#moves("undo", step);
  }

  async redo(): Promise<void> {
    await this.#moves("redo", "");
  }

  async diff(step: string): Promise<void> {
    await this.#aside("diff", step);
  }

  #moves(verb: "undo" | "redo", step: string): Promise<void> {
    const moved = this.#moved(verb, step);
    this.moving = moved.catch(() => {});
    return moved;
  }

  /** The chat goes on in the session that comes of it: the one of this folder that was not there before. */
  async #moved(verb: "undo" | "redo", step: string): Promise<void> {
    const { host } = this.#chat;
    const before = new Set(await sessionsIn(host.runtime, host.cwd));
    if (!(await this.#aside(verb, step))) return;
    const made = (await sessionsIn(host.runtime, host.cwd)).find((id) => !before.has(id));
    if (made !== undefined) await this.#chat.attach(await opened(host.runtime, made));
  }

  async #aside(verb: string, step: string): Promise<boolean> {
    const words = [verb, this.#needed().id, ...(step === "" ? [] : [step])];
    const ran = this.#chat.host.aside(words);
    this.#chat.draw();
    if (!ran) this.tell("plain", `there is no terminal to ask in here: pawl ${words.join(" ")}`);
    return ran;
  }

  async listSessions(): Promise<void> {
    const { host } = this.#chat;
    for (const words of await sessionLines(host.runtime, host.cwd)) this.tell("plain", words);
  }

  async open(address: string): Promise<void> {
    const { host } = this.#chat;
    const session = await opened(host.runtime, await addressOf(host.runtime, address));
    const cwd = (await session.summary())?.head.cwd;
    if (cwd !== undefined && cwd !== host.cwd)
      this.tell("warn", `session ${session.id} belongs to ${cwd}; here its tools work in ${host.cwd}`);
    await this.#chat.attach(session);
  }

  async begin(): Promise<void> {
    await this.#chat.attach(undefined);
    this.tell("quiet", "a new session begins with what you type");
  }

  async name(name: string): Promise<void> {
    this.tell("quiet", await named(this.#chat.host.runtime, this.#needed(), name));
  }

  #needed(): Session {
    const { session } = this.#chat;
    if (session) return session;
    throw new PawlError("INVALID_INPUT", "there is no session yet: it begins with what you type");
  }
}
