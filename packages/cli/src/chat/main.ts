/** `pawl` and `pawl chat`: an interactive session. Where nothing can be drawn again, a plain one, line by line. */
import { styleText } from "node:util";
import { openSession, type Session } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { addressOf } from "../address.ts";
import { exitOfOutcome } from "../exit.ts";
import { storeFolder, workspaceFolder } from "../place.ts";
import { folderOf } from "../run-target.ts";
import { columnsOf } from "../style.ts";
import { Chat } from "./chat.ts";
import { Desk } from "./desk.ts";
import { History } from "./history.ts";
import { type ChatOptions, Host } from "./host.ts";
import { Keyboard } from "./keyboard.ts";
import { LineFeed, PlainCanvas } from "./plain.ts";
import { Screen } from "./screen.ts";
import { latestIn } from "./session-choice.ts";
import { Story } from "./story.ts";

const { stdin, stdout } = process;

/** Whether a terminal is there that can be drawn on. */
function drawable(options: ChatOptions): boolean {
  return stdin.isTTY === true && stdout.isTTY === true && process.env["TERM"] !== "dumb" && options.plain !== true;
}

export async function runChat(address: string | undefined, options: ChatOptions): Promise<number> {
  const dir = storeFolder(options.store);
  const here = workspaceFolder(options.cwd);
  const runtime = await openRuntime({ dir });
  try {
    const id = address === undefined ? await latestIn(runtime, here) : await addressOf(runtime, address);
    const session = id === undefined ? undefined : await openSession(runtime, id);
    const cwd = id === undefined ? here : await folderOf(runtime, { kind: "known", id }, options.cwd);
    const host = new Host(runtime, dir, cwd, options);
    if (drawable(options)) return await drawn(host, session, runtime.warnings);
    return await plain(host, session, runtime.warnings);
  } finally {
    await runtime.store.close();
  }
}

async function drawn(host: Host, session: Session | undefined, warnings: readonly string[]): Promise<number> {
  const colour = styleText("red", "x", { stream: stdout }) !== "x";
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const screen = new Screen((text) => stdout.write(text), colour, size().columns);
  const chat = new Chat({ host, screen, history: new History(host.cwd), size, suspend: () => keyboard.suspend() });
  const keyboard = new Keyboard(stdin, stdout, {
    key: (key) => void chat.press(key),
    resized: () => chat.draw(),
    gone: () => chat.end(),
    suspending: () => screen.clear(size().columns),
  });
  keyboard.start();
  try {
    return await held(chat, host, session, warnings);
  } finally {
    keyboard.stop();
  }
}

/** As many rows as an answer may have: nothing is printed before it stands. */
const endless = 100_000;

async function plain(host: Host, session: Session | undefined, warnings: readonly string[]): Promise<number> {
  const desk = new Desk(new Story());
  const screen = new PlainCanvas(
    (text) => stdout.write(text),
    () => lines.feed(),
  );
  const size = () => ({ columns: columnsOf(stdout), rows: endless });
  const chat: Chat = new Chat({ host, screen, history: new History(host.cwd), size, suspend: () => {} }, desk);
  const lines = new LineFeed(chat, desk, stdin.isTTY === true);
  stdout.on("error", () => chat.end());
  let stop = () => {};
  try {
    return await held(chat, host, session, warnings, () => {
      stop = lines.start(stdin);
    });
  } finally {
    stop();
  }
}

const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** From the first frame to the last one; a signal ends it cleanly, a second one at once. */
async function held(
  chat: Chat,
  host: Host,
  session: Session | undefined,
  warnings: readonly string[],
  ready: () => void = () => {},
): Promise<number> {
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    if (signals > 1) process.exit(exitOfOutcome("aborted"));
    chat.end();
  };
  for (const name of signalNames) process.on(name, onSignal);
  try {
    for (const words of warnings) chat.tell("warn", words);
    chat.tell("quiet", `pawl in ${host.cwd} · /help lists keys and commands`);
    if (session) await chat.attach(session);
    ready();
    return await chat.ended();
  } finally {
    for (const name of signalNames) process.off(name, onSignal);
  }
}
