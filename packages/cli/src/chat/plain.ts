/**
 * The chat where nothing is drawn again: a dumb terminal, a screen reader, a pipe. Lines in, lines out, in order; an answer
 * is written when it stands.
 *
 * A person's line steers the turn that runs. A pipe cannot see what happens: its lines wait for their moment, one input
 * after the other, and a question takes the next one.
 */
import { createInterface } from "node:readline";
import type { Chat } from "./chat.ts";
import type { Desk } from "./desk.ts";
import type { Frame } from "./frame.ts";
import type { Canvas } from "./screen.ts";
import { lineText } from "./span.ts";

const enter = { type: "key", name: "enter", ctrl: false, alt: false, shift: false } as const;

/** Writes what stays, and says in words what a screen would show. */
export class PlainCanvas implements Canvas {
  readonly #write: (text: string) => void;
  readonly #onDraw: () => void;
  #asked: string | undefined;
  #hint: string | undefined;

  constructor(write: (text: string) => void, onDraw: () => void) {
    this.#write = write;
    this.#onDraw = onDraw;
  }

  draw({ printed, asks, hint }: Frame): void {
    const lines = printed.map(lineText);
    if (hint !== undefined && hint !== this.#hint) lines.push(hint);
    if (asks !== undefined && asks !== this.#asked)
      lines.push("Allow this? y (yes), a (always, others like it), all (from now on), n (no), or: no, because …");
    this.#hint = hint;
    this.#asked = asks;
    if (lines.length > 0) this.#write(`${lines.join("\n")}\n`);
    this.#onDraw();
  }

  clear(): void {}
}

export class LineFeed {
  readonly #chat: Chat;
  readonly #desk: Desk;
  /** Whether lines are taken as they come. */
  readonly #isPerson: boolean;
  readonly #lines: string[] = [];
  #isOver = false;
  #isFeeding = false;

  constructor(chat: Chat, desk: Desk, isPerson: boolean) {
    this.#chat = chat;
    this.#desk = desk;
    this.#isPerson = isPerson;
  }

  /** Returns the end of it. */
  start(input: NodeJS.ReadStream): () => void {
    const reader = createInterface({ input, terminal: false });
    reader.on("line", (line) => {
      this.#lines.push(line);
      this.feed();
    });
    // An error is an end: the terminal is gone, or no longer ours to read from.
    const end = () => {
      this.#isOver = true;
      this.feed();
    };
    reader.once("close", end).on("error", end);
    return () => reader.close();
  }

  /** Hands over what may be handed over now. Called whenever something has changed. */
  feed(): void {
    if (this.#isFeeding) return;
    this.#isFeeding = true;
    void this.#feedAll().finally(() => {
      this.#isFeeding = false;
    });
  }

  async #feedAll(): Promise<void> {
    for (;;) {
      const { question, mode } = this.#desk;
      const isReady = this.#isPerson || question !== undefined || (mode === "idle" && !this.#chat.isBusy);
      const line = isReady ? this.#lines.shift() : undefined;
      if (line !== undefined) {
        this.#desk.composer.set(line);
        await this.#chat.press(enter);
        continue;
      }
      if (!this.#isOver || this.#lines.length > 0) return;
      if (question) this.#chat.denyAll("the input has ended, and nobody is there to ask");
      else if (mode !== "driving" && !this.#chat.isBusy) this.#chat.leave();
      return;
    }
  }
}
