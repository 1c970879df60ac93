/**
 * `pawl` and `pawl chat`: an interactive session. Where nothing can be drawn again, a plain one, line by line.
 *
 * The first frame is drawn, and keys are taken, before the runtime is loaded and the store is open: nothing here may import it.
 */
import { performance } from "node:perf_hooks";
import { styleText } from "node:util";
import { columnsOf } from "../style.ts";
import { Printer } from "./block.ts";
import type { Chat } from "./chat.ts";
import { Desk, type Intent } from "./desk.ts";
import { frameOf } from "./frame.ts";
import type { ChatOptions } from "./host.ts";
import { Keyboard } from "./keyboard.ts";
import { LineFeed, PlainCanvas } from "./plain.ts";
import { Screen } from "./screen.ts";
import { Story } from "./story.ts";

const { stdin, stdout } = process;

export function runChat(address: string | undefined, options: ChatOptions): Promise<number> {
  const isDrawable = stdin.isTTY === true && stdout.isTTY === true && process.env["TERM"] !== "dumb";
  return isDrawable && options.plain !== true ? drawn(address, options) : plain(address, options);
}

async function drawn(address: string | undefined, options: ChatOptions): Promise<number> {
  const colour = styleText("red", "x", { stream: stdout }) !== "x";
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const screen = new Screen((text) => stdout.write(text), colour, size().columns);
  const desk = new Desk(new Story());
  const printer = new Printer();
  const early: Intent[] = [];
  let chat: Chat | undefined;
  const draw = () => {
    if (chat) chat.draw();
    else screen.draw(frameOf(desk, printer, { model: "" }, size(), performance.now()), size().columns);
  };
  const keyboard = new Keyboard(stdin, stdout, {
    key(key) {
      if (chat) return void chat.press(key);
      const intent = desk.press(key, performance.now());
      if (intent) early.push(intent);
      draw();
    },
    resized: draw,
    gone: () => (chat ? chat.end() : early.push({ do: "leave" })),
    suspending: () => screen.clear(size().columns),
  });
  keyboard.start();
  draw();
  try {
    const { holdChat } = await import("./held.ts");
    const ready = (here: Chat) => {
      chat = here;
      return early;
    };
    return await holdChat(address, { options, desk, printer, screen, size, suspend: keyboard.suspend, ready });
  } finally {
    screen.clear(size().columns);
    keyboard.stop();
  }
}

/** As many rows as an answer may have: nothing is printed before it stands. */
const endless = 100_000;

async function plain(address: string | undefined, options: ChatOptions): Promise<number> {
  const desk = new Desk(new Story());
  let lines: LineFeed | undefined;
  const screen = new PlainCanvas(
    (text) => stdout.write(text),
    () => lines?.feed(),
  );
  const size = () => ({ columns: columnsOf(stdout), rows: endless });
  let stop = () => {};
  const ready = (chat: Chat) => {
    stdout.on("error", () => chat.end());
    lines = new LineFeed(chat, desk, stdin.isTTY === true);
    stop = lines.start(stdin);
    return [];
  };
  try {
    const { holdChat } = await import("./held.ts");
    return await holdChat(address, { options, desk, screen, size, suspend: () => {}, ready });
  } finally {
    stop();
  }
}
