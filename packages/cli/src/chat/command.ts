/** Commands after `/`: a registry. A command says what it does and does it; the list in `/help` and the completion are this list. */
import type { Tone } from "../style.ts";
import type { Choice } from "./completion.ts";

export type TellTone = Tone;

/** What a command may do with the chat. */
export interface ChatHands {
  tell(tone: TellTone, text: string): void;
  /** Whether a turn is under way here. */
  readonly isBusy: boolean;
  resume(): Promise<void>;
  goOn(): Promise<void>;
  stop(): Promise<void>;
  leave(): void;
  useModel(word: string): Promise<void>;
  useMode(word: string): Promise<void>;
  compact(): Promise<void>;
  /** `turn`: its number; empty: the end, or of a rewind the turn before the last. */
  fork(turn: string): Promise<void>;
  rewind(turn: string): Promise<void>;
  /** `step`: as `pawl undo` takes it; empty: the last turn that changed files. */
  undo(step: string): Promise<void>;
  redo(): Promise<void>;
  diff(step: string): Promise<void>;
  listSessions(): Promise<void>;
  open(address: string): Promise<void>;
  begin(): Promise<void>;
  name(name: string): Promise<void>;
}

export interface ChatCommand {
  name: string;
  /** What may follow it. */
  takes?: string;
  about: string;
  /** While a turn runs here, it is refused. */
  whenIdle?: true;
  run(hands: ChatHands, rest: string): Promise<void> | void;
}

const chatCommands: readonly ChatCommand[] = [
  { name: "help", about: "keys and commands", run: (hands) => tellHelp(hands) },
  { name: "resume", about: "go on inside an interrupted turn", whenIdle: true, run: (hands) => hands.resume() },
  {
    name: "continue",
    about: "follow a turn that did not complete, without new words",
    whenIdle: true,
    run: (hands) => hands.goOn(),
  },
  { name: "stop", about: "stop the turn, whoever drives it", run: (hands) => hands.stop() },
  {
    name: "model",
    takes: "PROVIDER:ID",
    about: "which model is asked from the next turn on",
    run: (hands, rest) => hands.useModel(rest),
  },
  {
    name: "mode",
    takes: "plan|ask|accept-edits|all",
    about: "what runs without asking, from the next turn on",
    run: (hands, rest) => hands.useMode(rest),
  },
  {
    name: "compact",
    about: "leave the older part of the conversation out",
    whenIdle: true,
    run: (hands) => hands.compact(),
  },
  {
    name: "fork",
    takes: "[TURN]",
    about: "go on in a copy, up to the end of a turn",
    whenIdle: true,
    run: (hands, rest) => hands.fork(rest),
  },
  {
    name: "rewind",
    takes: "[TURN]",
    about: "go back to the end of a turn; the log is kept",
    whenIdle: true,
    run: (hands, rest) => hands.rewind(rest),
  },
  {
    name: "diff",
    takes: "[STEP]",
    about: "what the last turn has changed in the folder",
    whenIdle: true,
    run: (hands, rest) => hands.diff(rest),
  },
  {
    name: "undo",
    takes: "[STEP]",
    about: "files and conversation back to before the last turn, after showing what changes",
    whenIdle: true,
    run: (hands, rest) => hands.undo(rest),
  },
  { name: "redo", about: "takes back an undo", whenIdle: true, run: (hands) => hands.redo() },
  {
    name: "sessions",
    takes: "[ID]",
    about: "the latest sessions; with an id, open that one",
    whenIdle: true,
    run: (hands, rest) => (rest === "" ? hands.listSessions() : hands.open(rest)),
  },
  { name: "new", about: "begin a new session here", whenIdle: true, run: (hands) => hands.begin() },
  { name: "name", takes: "NAME", about: "call this session by a name", run: (hands, rest) => hands.name(rest) },
  { name: "quit", about: "leave", run: (hands) => hands.leave() },
];

export const commandChoices: readonly Choice[] = chatCommands.map(({ name, about, takes }) => ({
  text: `/${name}`,
  about: takes === undefined ? about : `${takes}: ${about}`,
}));

const keys: [string, string][] = [
  ["Enter", "send; while a turn runs: steer it. On an empty line: what is offered"],
  ["Tab, Alt-Enter", "while a turn runs: send it as the next input"],
  ["Ctrl-J, \\ Enter", "a new line (Shift-Enter where the terminal tells it, Alt-Enter when idle)"],
  ["Up", "change a message that waits; else history"],
  ["@", "a file of this folder"],
  ["Ctrl-O", "show what the model thought"],
  ["Esc, Ctrl-C", "stop the turn; again: leave. Ctrl-D leaves"],
];

function tellHelp(hands: ChatHands): void {
  const width = Math.max(
    ...keys.map(([key]) => key.length),
    ...chatCommands.map(({ name, takes = "" }) => name.length + takes.length + 2),
  );
  for (const [key, about] of keys) hands.tell("plain", `${key.padEnd(width)}  ${about}`);
  for (const { name, takes = "", about } of chatCommands)
    hands.tell("plain", `${`/${name} ${takes}`.padEnd(width)}  ${about}`);
}

/** Runs a command; says what is wrong with its name. */
export async function runCommand(hands: ChatHands, name: string, rest: string): Promise<void> {
  const found = chatCommands.find((command) => command.name === name);
  if (!found) return hands.tell("bad", `there is no command /${name}; /help lists them`);
  if (found.whenIdle && hands.isBusy) return hands.tell("bad", `/${name} waits until the turn has ended; Esc stops it`);
  await found.run(hands, rest);
}
