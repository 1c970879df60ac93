/**
 * The terminal as the chat uses it: keys in, raw mode, and whatever has to be put back when the process ends or is suspended.
 *
 * Owns: modes of the terminal. They are put back on leaving, on any exit of the process and on suspension; after a SIGKILL
 * only what a shell sets again itself is left on (raw mode, bracketed paste).
 */
import { type Key, KeyReader } from "./key.ts";

const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";
/** So long a lone Esc may be the start of a longer sequence, also over a slow line. */
const escapeMs = 50;

/** Whoever runs so long after it was told to stop was not stopped. */
const stoppedMs = 50;

export interface KeyboardEvents {
  key(key: Key): void;
  /** The terminal has another size, or is ours again. */
  resized(): void;
  /** The terminal has gone. */
  gone(): void;
  /** Before the process stops for Ctrl-Z: the live rows go. */
  suspending(): void;
}

export class Keyboard {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #events: KeyboardEvents;
  readonly #reader = new KeyReader();
  #timer: NodeJS.Timeout | undefined;
  #isOn = false;
  #isOver = false;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, events: KeyboardEvents) {
    this.#input = input;
    this.#output = output;
    this.#events = events;
  }

  start(): void {
    this.#on();
    this.#input
      .setEncoding("utf8")
      .on("data", this.#onData)
      .on("end", this.#events.gone)
      .on("error", this.#events.gone);
    this.#output.on("error", this.#events.gone).on("resize", this.#events.resized);
    process.on("exit", this.#off).on("SIGTSTP", this.suspend).on("SIGCONT", this.#onContinue);
  }

  stop(): void {
    this.#isOver = true;
    this.#off();
    this.#input.off("data", this.#onData).off("end", this.#events.gone).off("error", this.#events.gone).pause();
    this.#output.off("resize", this.#events.resized);
    process.off("exit", this.#off).off("SIGTSTP", this.suspend).off("SIGCONT", this.#onContinue);
    clearTimeout(this.#timer);
  }

  /** Stops the process as Ctrl-Z does elsewhere; it goes on with `fg`. */
  readonly suspend = (): void => {
    this.#events.suspending();
    this.#off();
    // The whole group, as the terminal itself would: whoever started us waits with us.
    process.off("SIGTSTP", this.suspend);
    process.kill(0, "SIGTSTP");
    // Without a shell that could take it up again, the system does not stop a group: then we are still here.
    setTimeout(this.#onContinue, stoppedMs);
  };

  #on(): void {
    this.#input.setRawMode?.(true);
    this.#output.write(pasteOn);
    this.#isOn = true;
  }

  #off = (): void => {
    if (!this.#isOn) return;
    this.#isOn = false;
    try {
      this.#output.write(pasteOff);
      this.#input.setRawMode?.(false);
    } catch {
      // The terminal has gone: there is nothing to put back.
    }
  };

  #onContinue = (): void => {
    if (this.#isOver) return;
    process.off("SIGTSTP", this.suspend).on("SIGTSTP", this.suspend);
    this.#off();
    this.#on();
    this.#events.resized();
  };

  #onData = (chunk: string): void => {
    clearTimeout(this.#timer);
    for (const key of this.#reader.read(chunk)) this.#events.key(key);
    if (this.#reader.waits)
      this.#timer = setTimeout(() => {
        for (const key of this.#reader.flush()) this.#events.key(key);
      }, escapeMs);
  };
}
