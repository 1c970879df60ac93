/** A chat from its opening to its end: the store, the session that is meant, signals. */
import { openSession, type Session } from "@pawl/core";
import { addressOf } from "../address.ts";
import { exitOfOutcome } from "../exit.ts";
import { latestIn } from "../latest.ts";
import { openStore } from "../open-store.ts";
import { storeFolder, workspaceFolder } from "../place.ts";
import { folderOf, refuseOther } from "../run-target.ts";
import { Printer, row } from "./block.ts";
import { Chat } from "./chat.ts";
import type { Desk, Intent } from "./desk.ts";
import { History } from "./history.ts";
import { type ChatOptions, Host } from "./host.ts";
import type { Canvas } from "./screen.ts";

export interface Held {
  options: ChatOptions;
  desk: Desk;
  /** What has printed already. */
  printer?: Printer;
  screen: Canvas;
  size(): { columns: number; rows: number };
  suspend(): void;
  /** Gives the terminal to another program for as long as `run` takes; absent where there is none to give. */
  lend?(run: () => void): void;
  /** The chat is there, and what it was asked for meanwhile is its to do. */
  ready(chat: Chat): readonly Intent[];
}

const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function holdChat(address: string | undefined, held: Held): Promise<number> {
  const { options } = held;
  const dir = storeFolder(options.store);
  const here = workspaceFolder(options.cwd);
  const runtime = await openStore(options.store);
  try {
    const { workspace } = options;
    const id = address === undefined ? await latestIn(runtime, here, workspace) : await addressOf(runtime, address);
    const session = id === undefined ? undefined : await openSession(runtime, id);
    if (session) await refuseOther(session, workspace);
    // It may have something to say, on standard error: not into the middle of a frame.
    if (options.cwd !== undefined) held.screen.clear(held.size().columns);
    const cwd = id === undefined ? here : await folderOf(runtime, { kind: "known", id }, options.cwd);
    const { desk, screen, size, suspend } = held;
    const host = new Host(runtime, dir, cwd, options);
    const chat = new Chat(
      { host, screen, history: new History(cwd), size, suspend },
      desk,
      held.printer ?? new Printer(),
    );
    if (held.lend) host.lend = held.lend;
    for (const words of runtime.warnings) chat.tell("warn", words);
    hear(host, chat, desk);
    try {
      return await lived(chat, host, session, held);
    } finally {
      await host.close();
    }
  } finally {
    await runtime.store.close();
  }
}

/** What the host has to say, and what happens in the sessions of tasks. */
function hear(host: Host, chat: Chat, desk: Desk): void {
  host.onNotice = (text) => chat.tell("quiet", text);
  host.onQuestion = (question, choices) => {
    chat.tell("warn", `? ${question}`);
    for (const [at, choice] of choices.entries()) chat.tell("plain", `  ${at + 1}. ${choice}`);
    chat.tell("quiet", "  Enter answers it, in your own words or with a number.");
  };
  host.tasks.show = (item, child) => {
    desk.story.seeChild(item, child, performance.now());
    chat.drawSoon();
  };
}

/** A signal ends it cleanly, a second one at once. */
async function lived(chat: Chat, host: Host, session: Session | undefined, held: Held): Promise<number> {
  let signals = 0;
  const onSignal = () => {
    // Ctrl-C at another program's question was meant for that.
    if (host.isLending) return;
    signals += 1;
    if (signals > 1) process.exit(exitOfOutcome("aborted"));
    chat.end();
  };
  for (const name of signalNames) process.on(name, onSignal);
  try {
    held.desk.story.add(row("quiet", `pawl in ${host.cwd}`), row("quiet", "/help lists keys and commands"));
    await chat.attach(session);
    await host.prepare().catch((error: unknown) => chat.complain(error));
    for (const intent of held.ready(chat)) await chat.perform(intent);
    return await chat.ended();
  } finally {
    for (const name of signalNames) process.off(name, onSignal);
  }
}
