/**
 * The process that commands run under, so that they outlive the runtime that asked for them. One for each runtime.
 *
 * Owns: claim before start, deadline, output on disk, group kill, exit record after. Invariants:
 * 1. Nothing starts without a durable claim of its own.
 * 2. Each claim of ours gets an exit record, unless this process dies.
 * 3. The sudden death of the runtime (the channel closes without a word) changes nothing: what runs goes on to its end, then this
 *    process ends. SIGTERM is the word: everything is ended, what a finished command left in the background included.
 *
 * Plain and small: it imports nothing but Node and its neighbours. Not used through imports: see supervisor-link.
 */
import { randomUUID } from "node:crypto";
import { runCommand } from "./command.ts";
import { type CommandEnd, CommandFolder, type ExitRecord, type StopReason } from "./command-folder.ts";
import { OutputFile } from "./output-file.ts";
import { endGroup, exitGraceMs, hasMarkedMember } from "./process-group.ts";
import { thisProcess } from "./process-identity.ts";

/** What the runtime asks. A command goes by the path of its folder. */
export type Order =
  | {
      do: "start";
      folder: string;
      command: string;
      wrap?: readonly string[];
      cwd: string;
      env: NodeJS.ProcessEnv;
      timeoutMs: number;
      outputBytes: number;
      /** How long it may go on after the runtime has died; without it, to its deadline. */
      orphanMs?: number;
    }
  | { do: "stop"; folder: string; reason: StopReason };

/** What it is told. `refused`: nothing was run. */
export type Report =
  | { say: "refused"; folder: string; why: string }
  | { say: "started"; folder: string }
  /** The start of its output is in the file up to here. */
  | { say: "grown"; folder: string; bytes: number }
  /** `rescued` (base64): the end of the output, where the disk would not take it. */
  | { say: "ended"; folder: string; record: ExitRecord & { ran: true }; rescued?: string };

type StartOrder = Extract<Order, { do: "start" }>;

interface Running {
  order: StartOrder;
  stop(reason: StopReason): void;
  over: Promise<void>;
}

const settledElsewhere = "somebody who took it for dead has settled this call: nothing was run";
const self = thisProcess();
const running = new Map<string, Running>();
/** Groups of finished commands that still had members, and their marks. */
const background = new Map<number, string>();
let quitting = false;

process.on("message", (order: Order) => {
  if (order.do === "stop") running.get(order.folder)?.stop(order.reason);
  else if (!quitting) take(order);
});
process.on("SIGTERM", () => {
  if (!quitting) void quit();
});

// Nobody is left to end what runs without an end.
process.on("disconnect", () => {
  for (const { order, stop } of running.values()) {
    if (order.orphanMs !== undefined) setTimeout(stop, order.orphanMs, "orphaned").unref();
  }
});

function take(order: StartOrder): void {
  const { promise: stop, resolve } = Promise.withResolvers<StopReason>();
  const entry = { order, stop: resolve, over: Promise.resolve() };
  running.set(order.folder, entry);
  entry.over = supervise(order, stop).finally(() => running.delete(order.folder));
}

async function supervise(order: StartOrder, stop: Promise<StopReason>): Promise<void> {
  const folder = new CommandFolder(order.folder);
  const mark = randomUUID();
  try {
    if (!(await folder.claim({ by: "supervisor", process: self, mark }))) return tell(refusal(order, settledElsewhere));
    const startedAt = Date.now();
    if ((await Promise.race([stop, undefined])) !== undefined) throw new Error("it was ended before it began");
    const output = new OutputFile(folder.output, order.outputBytes);
    const end = await run(order, { folder, mark, stop, output }).finally(() => output.close());
    const record = { ran: true, end, output: output.size, startedAt, endedAt: Date.now() } as const;
    const { rescued } = output;
    // A runtime that lives has the output in hand, and need not wait for any flush: if it dies of what it hears, the record comes all
    // the same.
    if (!process.connected) await folder.flushOutput();
    const told = tell({ say: "ended", folder: order.folder, record, ...(rescued === undefined ? {} : { rescued }) });
    await Promise.all([told, folder.writeExit(record).catch(() => undefined)]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await folder.writeExit({ ran: false, why }).catch(() => undefined);
    return tell(refusal(order, why));
  }
}

interface Ground {
  folder: CommandFolder;
  mark: string;
  stop: Promise<StopReason>;
  output: OutputFile;
}

/** Rejects where nothing was run. */
async function run(order: StartOrder, { folder, mark, stop, output }: Ground): Promise<CommandEnd> {
  let group = 0;
  let told = 0;
  let telling = false;
  // One word at a time: a flood is told as fast as it is heard.
  const tellGrowth = async () => {
    if (telling) return;
    telling = true;
    while (output.size.head > told) {
      told = output.size.head;
      await tell({ say: "grown", folder: order.folder, bytes: told });
    }
    telling = false;
  };
  const begun = runCommand({
    ...order,
    mark,
    stop,
    onStart: (pgid) => {
      group = pgid;
      void tell({ say: "started", folder: order.folder });
      try {
        folder.writeGroup(pgid);
      } catch {
        // A full disk: should this process die now, nobody will know what to end.
      }
    },
    onOutput: (chunk) => {
      output.write(chunk);
      void tellGrowth();
    },
  });
  const end = await begun.catch((error: unknown) => {
    if (group === 0) throw error;
    // It has run, and how it ended was not to be seen: never to be taken for one that has not.
    return { exitCode: null, exitSignal: null, group: [], left: [] };
  });
  if (end.group.length > 0) background.set(group, mark);
  return end;
}

function refusal({ folder }: StartOrder, why: string): Report {
  return { say: "refused", folder, why };
}

async function quit(): Promise<void> {
  quitting = true;
  // Their numbers may have been given to others by now: only what carries the mark is ours to end.
  const left = [...background].filter(([pgid, mark]) => hasMarkedMember(pgid, mark));
  for (const { stop } of running.values()) stop("exit");
  await Promise.all([
    ...left.map(([pgid]) => endGroup(pgid, exitGraceMs)),
    ...[...running.values()].map(({ over }) => over),
  ]);
  process.exit();
}

/** Resolves once it is said, or there is nobody to say it to. */
function tell(report: Report): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(report, () => resolve());
  });
}
