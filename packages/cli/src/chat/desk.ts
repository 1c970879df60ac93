/**
 * What stands in front of a person: the composer, what waits, a question, an offer; and what a key means there. Pure: a key
 * changes the desk and may ask for something (`Intent`), which somebody else does.
 */

import { type Choice, matching, type Popup, wordAt } from "./completion.ts";
import { Composer } from "./composer.ts";
import type { Key } from "./key.ts";
import type { Story } from "./story.ts";

/** `always`: this call and others like it in this session; `all`: every call, as long as the chat lasts. */
export type AnswerWord = "allow" | "always" | "all" | "deny";

export type Intent =
  /** `now`: to the open turn, or as a new one. `next`: after the open turn. */
  | { do: "send"; text: string; when: "now" | "next" }
  | { do: "command"; name: string; rest: string }
  | { do: "answer"; approval: string; answer: AnswerWord; reason?: string }
  | { do: "edit"; id: string; text: string }
  | { do: "withdraw"; id: string }
  | { do: "retry" }
  | { do: "interrupt" }
  | { do: "leave" }
  | { do: "suspend" }
  | { do: "redraw" }
  | { do: "show-thought" }
  | { do: "accept-offer" }
  | { do: "want-files" };

export interface Waiting {
  id: string;
  kind: "prompt" | "steer";
  text: string;
}

/** What Enter on an empty composer does. */
export type Offer = "resume" | "continue" | "send-waiting";

export type Mode =
  /** The session is not there yet. */
  | "opening"
  /** Nobody drives. */
  | "idle"
  /** This process drives. */
  | "driving"
  /** Another one does. */
  | "watching";

/** A question that has just come: a key was meant for the composer. */
const questionGuardMs = 700;
/** Two keys within this time are one wish. */
const twiceMs = 2_000;

export class Desk {
  readonly composer: Composer;
  story: Story;
  mode: Mode = "opening";
  waiting: readonly Waiting[] = [];
  offer: Offer | undefined;
  popup: Popup | undefined;
  /** One line above the composer, until the next key. */
  hint: string | undefined;
  /** Why a call is denied is being written. */
  denies: string | undefined;
  /** A waiting message that is being changed. */
  edits: string | undefined;
  watchesThoughts = false;
  /** A stop has been asked for. */
  stops = false;
  commands: readonly Choice[] = [];
  files: readonly Choice[] | undefined;
  #leaveAskedAt = Number.NEGATIVE_INFINITY;
  /** The word whose completion was closed. */
  #closedAt: number | undefined;

  constructor(story: Story, composer = new Composer()) {
    this.story = story;
    this.composer = composer;
  }

  get question() {
    return this.story.questions[0];
  }

  press(key: Key, now: number): Intent | undefined {
    this.hint = undefined;
    if (this.denies !== undefined && this.question?.approval !== this.denies) this.denies = undefined;
    if (key.type === "key" && (key.name === "escape" || (key.ctrl && (key.name === "c" || key.name === "d"))))
      return this.#out(key.name, now);
    this.#leaveAskedAt = Number.NEGATIVE_INFINITY;
    const intent = key.type === "key" ? this.#key(key, now) : this.#written(key, now);
    this.#suggest();
    if (!intent && this.popup?.kind === "file" && this.files === undefined) return { do: "want-files" };
    return intent;
  }

  #written(key: Exclude<Key, { type: "key" }>, now: number): Intent | undefined {
    if (key.type === "paste") {
      this.composer.paste(key.text);
      return undefined;
    }
    if (this.composer.isEmpty && this.denies === undefined && this.edits === undefined) {
      const intent = this.#single(key.text, now);
      if (intent) return intent;
      if (this.denies !== undefined) return undefined;
    }
    this.composer.insert(key.text);
    return undefined;
  }

  /** Keys that need no Enter. */
  #single(sign: string, now: number): Intent | undefined {
    const { question } = this;
    if (question && now - question.since >= questionGuardMs) {
      const { approval } = question;
      if (/^y$/i.test(sign)) return { do: "answer", approval, answer: "allow" };
      if (sign === "a") return { do: "answer", approval, answer: "always" };
      if (sign === "A") return { do: "answer", approval, answer: "all" };
      if (/^n$/i.test(sign)) this.denies = approval;
      return undefined;
    }
    return sign === "r" && this.story.retry && this.mode === "driving" ? { do: "retry" } : undefined;
  }

  #key(key: Extract<Key, { type: "key" }>, now: number): Intent | undefined {
    if (key.name === "enter") return this.#enter(key);
    if (key.name === "tab") return this.#tab(key.shift);
    if (key.ctrl) return this.#control(key.name);
    if (key.name === "up") return this.#up();
    if (key.name === "down" && this.popup) this.#select(1);
    else this.#move(key.name, key.alt);
    void now;
    return undefined;
  }

  #move(name: string, byWord: boolean): void {
    const { composer } = this;
    if (name === "down") composer.down();
    else if (name === "left" || (byWord && name === "b")) byWord ? composer.wordLeft() : composer.left();
    else if (name === "right" || (byWord && name === "f")) byWord ? composer.wordRight() : composer.right();
    else if (name === "home") composer.home();
    else if (name === "end") composer.end();
    else if (name === "backspace") byWord ? composer.cutWord() : composer.back();
    else if (name === "delete") composer.delete();
  }

  #control(name: string): Intent | undefined {
    const { composer } = this;
    const edits: { [name: string]: () => void } = {
      a: () => composer.home(),
      b: () => composer.left(),
      e: () => composer.end(),
      f: () => composer.right(),
      h: () => composer.back(),
      j: () => composer.insert("\n"),
      k: () => composer.cutToEnd(),
      u: () => composer.cutToStart(),
      w: () => composer.cutWord(),
      y: () => composer.yank(),
      left: () => composer.wordLeft(),
      right: () => composer.wordRight(),
      n: () => composer.down(),
    };
    if (name === "l") return { do: "redraw" };
    if (name === "z") return { do: "suspend" };
    if (name === "p") return this.#up();
    if (name === "o" || name === "t") {
      if (this.story.answer?.isThinking) this.watchesThoughts = !this.watchesThoughts;
      else return { do: "show-thought" };
    } else edits[name]?.();
    return undefined;
  }

  #up(): Intent | undefined {
    if (this.popup) {
      this.#select(-1);
      return undefined;
    }
    const last = this.waiting.at(-1);
    if (this.composer.isEmpty && last && this.denies === undefined) {
      this.edits = last.id;
      this.composer.set(last.text);
      this.hint = "changing a message that waits: Enter keeps the change, Esc leaves it, empty takes it back";
    } else this.composer.up();
    return undefined;
  }

  #enter({ alt, shift }: { alt: boolean; shift: boolean }): Intent | undefined {
    const { composer } = this;
    if (shift || (alt && this.mode !== "driving" && this.mode !== "watching")) {
      composer.insert("\n");
      return undefined;
    }
    if (composer.breakAtBackslash()) return undefined;
    if (this.popup && this.popup.choices.length > 0 && !this.#isWritten()) {
      this.#accept();
      if (this.popup?.kind !== "command" || /\s$/.test(composer.text) === false) return undefined;
    }
    if (this.denies !== undefined) return this.#deny();
    if (this.edits !== undefined) return this.#change();
    if (composer.whole.trim() === "") return this.#emptyEnter();
    const text = composer.whole;
    const command = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text.trim());
    if (command) {
      composer.take();
      return { do: "command", name: command[1] ?? "", rest: (command[2] ?? "").trim() };
    }
    const answer = this.question && answerIn(text);
    if (answer && this.question) {
      composer.set("");
      return { do: "answer", approval: this.question.approval, ...answer };
    }
    return { do: "send", text: composer.take(), when: alt ? "next" : "now" };
  }

  /** The one choice is what stands there already. */
  #isWritten(): boolean {
    const { popup } = this;
    return popup?.kind === "command" && popup.choices[popup.selected]?.text === `/${popup.query}`;
  }

  #emptyEnter(): Intent | undefined {
    this.composer.set("");
    if (this.story.retry && this.mode === "driving") return { do: "retry" };
    if (this.mode === "idle" && this.offer) return { do: "accept-offer" };
    return undefined;
  }

  #deny(): Intent {
    const approval = this.denies ?? "";
    this.denies = undefined;
    const reason = this.composer.whole.trim();
    this.composer.set("");
    return { do: "answer", approval, answer: "deny", ...(reason === "" ? {} : { reason }) };
  }

  #change(): Intent {
    const id = this.edits ?? "";
    this.edits = undefined;
    const text = this.composer.take();
    return text.trim() === "" ? { do: "withdraw", id } : { do: "edit", id, text };
  }

  #tab(isBack: boolean): Intent | undefined {
    if (this.popup && this.popup.choices.length > 0) {
      if (isBack) this.#select(-1);
      else this.#accept();
      return undefined;
    }
    if (this.mode === "idle" || this.mode === "opening" || this.denies !== undefined || this.edits !== undefined)
      return undefined;
    if (this.composer.whole.trim() === "") return undefined;
    return { do: "send", text: this.composer.take(), when: "next" };
  }

  #accept(): void {
    const { popup, composer } = this;
    const choice = popup?.choices[popup.selected];
    if (!popup || !choice) return;
    composer.complete(popup.from, `${choice.text} `);
  }

  #select(by: number): void {
    const { popup } = this;
    if (popup) popup.selected = (popup.selected + by + popup.choices.length) % Math.max(1, popup.choices.length);
  }

  /** Esc, Ctrl-C and Ctrl-D: close what is open, then stop, then leave. */
  #out(name: string, now: number): Intent | undefined {
    const { composer } = this;
    if (name === "d" && !composer.isEmpty) {
      composer.delete();
      this.#suggest();
      return undefined;
    }
    if (name === "d" && this.mode !== "driving") return { do: "leave" };
    if (this.#closes(name)) return undefined;
    const again = now - this.#leaveAskedAt < twiceMs;
    this.#leaveAskedAt = now;
    if (this.mode === "driving" && (!this.stops || again)) {
      if (this.stops) return { do: "leave" };
      this.hint = "stopping: what runs is ended first, and every call gets its result; again leaves";
      return { do: "interrupt" };
    }
    if (again) return { do: "leave" };
    if (this.mode === "watching" && name === "escape") {
      this.hint = "another process drives: Esc again leaves, /stop asks it to stop the turn";
      return undefined;
    }
    this.hint = name === "escape" ? "Esc again leaves" : "Ctrl-C again leaves";
    return undefined;
  }

  #closes(name: string): boolean {
    const { composer } = this;
    if (this.popup && name === "escape") {
      this.#closedAt = this.popup.from;
      this.popup = undefined;
      return true;
    }
    if (this.denies !== undefined || this.edits !== undefined) {
      this.denies = undefined;
      this.edits = undefined;
      composer.set("");
      return true;
    }
    // A draft is worth more than a turn's second: Ctrl-C clears it first, Esc stops what runs and keeps it.
    if (composer.isEmpty || (name === "escape" && this.mode === "driving")) return false;
    if (name === "escape") return false;
    composer.set("");
    this.popup = undefined;
    return true;
  }

  #suggest(): void {
    const { composer } = this;
    const word = this.denies === undefined ? wordAt(composer.text, composer.cursor) : undefined;
    if (!word || word.from === this.#closedAt) {
      if (!word) this.#closedAt = undefined;
      this.popup = undefined;
      return;
    }
    const all = word.kind === "command" ? this.commands : (this.files ?? []);
    const query = word.kind === "command" ? `/${word.query}` : word.query;
    const choices = matching(all, query);
    const same = this.popup?.kind === word.kind && this.popup.query === word.query;
    this.popup = {
      ...word,
      choices,
      selected: same ? Math.min(this.popup?.selected ?? 0, Math.max(0, choices.length - 1)) : 0,
    };
  }

  /** The files are there now. */
  filesCame(paths: readonly string[]): void {
    this.files = paths.map((path) => ({ text: `@${path}` }));
    this.#suggest();
  }
}

/** An answer that was written out and sent with Enter. */
function answerIn(text: string): { answer: AnswerWord; reason?: string } | undefined {
  const words = text.trim();
  if (/^y(es)?$/i.test(words)) return { answer: "allow" };
  if (/^a(lways)?$/i.test(words)) return { answer: "always" };
  if (/^all$/i.test(words)) return { answer: "all" };
  const no = /^no?(?:[,:;]\s*|\s+because\s+|$)(.*)$/is.exec(words);
  if (!no) return undefined;
  const reason = (no[1] ?? "").trim();
  return { answer: "deny", ...(reason === "" ? {} : { reason }) };
}
