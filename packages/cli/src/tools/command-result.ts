/**
 * What the model is told of a command that has ended: its output, how it ended, what it left behind. The same words live and
 * after a crash, since both read the same file and the same record.
 */
import type { CommandEnd, CommandFolder, ExitRecord } from "./command-folder.ts";
import type { CommandOutput } from "./command-output.ts";
import type { OutputReader } from "./output-reader.ts";
import { named } from "./process-group.ts";
import type { SpillFolder } from "./spill-folder.ts";
import { byteSize } from "./text.ts";

export interface CommandResult {
  content: { type: "text"; text: string }[];
  isError: boolean;
}

export interface Told {
  folder: CommandFolder;
  spill: SpillFolder;
  name: string;
  timeoutMs: number;
  output: CommandOutput;
  reader: OutputReader;
  /** It ran in a process namespace of its own: no later command can reach what it left. */
  confined: boolean;
}

/** `rescued`: the end of the output, where the disk would not take it. */
export async function commandResult(
  { end, output: size }: ExitRecord & { ran: true },
  { folder, spill, name, timeoutMs, output, reader, confined }: Told,
  rescued?: string,
): Promise<CommandResult> {
  const missing = await reader.finish(size, rescued);
  const whereabouts = async () => {
    if (missing !== undefined) return `the whole output could not be kept: ${missing}`;
    try {
      const path = await spill.keep(folder.output, name);
      if (size.head + size.tail === size.bytes)
        return `the whole output is in ${path} (look into it with read or grep)`;
      return `the first ${byteSize(size.head)} and the last ${byteSize(size.tail)} are in ${path}`;
    } catch (error) {
      return `the whole output could not be saved: ${error instanceof Error ? error.message : error}`;
    }
  };
  const said = (await output.finish(whereabouts)).trimEnd();
  const silent = said.trim() === "";
  const text = [...(silent ? [] : [said]), ...endNotes(end, { timeoutMs, confined, silent })].join("\n");
  return { content: [{ type: "text", text }], isError: end.exitCode !== 0 || end.stopped !== undefined };
}

/** How it ended and what it left behind, each in a line. */
export function endNotes(
  end: CommandEnd,
  { timeoutMs, confined, silent }: { timeoutMs: number; confined: boolean; silent: boolean },
): string[] {
  const notes = [`[${silent ? "no output; " : ""}${exitText(end)}]`];
  if (end.stopped === "deadline") {
    notes.push(
      `[it ran into its limit of ${timeoutMs} ms and was ended; its effects so far stand. Set timeoutMs if it needs longer]`,
    );
  }
  if (end.stopped === "aborted") notes.push("[it was ended because the call was aborted; its effects so far stand]");
  if (end.stopped === "exit") notes.push("[it was ended because the agent was told to quit; its effects so far stand]");
  if (end.stopped === "killed") notes.push("[it was ended by job_kill; its effects so far stand]");
  if (end.stopped === "orphaned") {
    notes.push("[it was ended because the agent that had started it was long dead; its effects so far stand]");
  }
  if (end.group.length > 0) {
    const what = end.stopped
      ? "these processes have survived KILL"
      : "still running in the background, further output is not seen";
    notes.push(`[${what}: ${named(end.group)}]`);
  }
  if (end.left.length > 0)
    notes.push(
      `[still running, detached from the command: ${named(end.left)}; ${confined ? "in a sandbox of their own, where no later command reaches them" : "end them with kill if they are not meant to stay"}]`,
    );
  return notes;
}

function exitText({ exitCode, exitSignal }: CommandEnd): string {
  if (exitCode !== null) return `exit code ${exitCode}`;
  return exitSignal === null ? "no exit seen" : `ended by ${exitSignal}`;
}
