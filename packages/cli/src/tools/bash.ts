import { defineTool, everything, PawlError, type Tool } from "@pawl/core";
import { z } from "zod";
import { type CommandEnd, runCommand } from "./command.ts";
import { CommandOutput } from "./command-output.ts";
import { named } from "./process-group.ts";
import type { SpillFolder } from "./spill-folder.ts";
import type { Workspace } from "./workspace.ts";

/** Tests and builds of most projects fit; a server started by mistake does not hold up a turn for long. */
const defaultTimeoutMs = 120_000;
const longestTimeoutMs = 30 * 60_000;
/** The runtime's deadline comes after ours has had time to end the group, so that the result tells what happened. */
const stopMs = 10_000;

const inputSchema = z.object({
  command: z.string().describe("The command line, as for bash -c."),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(longestTimeoutMs)
    .optional()
    .describe(`Milliseconds after which it is ended (default ${defaultTimeoutMs}, at most ${longestTimeoutMs}).`),
  description: z.string().optional().describe("What it is for, in a few words, for the person who watches."),
});

export interface Shell {
  workspace: Workspace;
  spill: SpillFolder;
  env: NodeJS.ProcessEnv;
}

/**
 * Runs a command line in the workspace. Gives its output (both streams in order) and how it ended: an error result unless it exited with 0.
 * Caps: 30,000 characters, start and end; the whole goes to a file that the note names. On abort and deadline the whole process
 * group gets TERM, and KILL two seconds later.
 */
export function bashTool({ workspace, spill, env }: Shell): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Runs a command with bash in the workspace and gives its output and exit code. There is no input (stdin is closed) and no terminal; " +
      "each call is a new shell. A long output is cut in the middle and saved to a file. To leave something running, end it with & " +
      "and send its output to a file. Prefer read, edit, glob and grep for files.",
    inputSchema,
    effect: "write",
    locks: () => [everything],
    timeoutMs: longestTimeoutMs + stopMs,
    async execute({ command, timeoutMs = defaultTimeoutMs }, { signal, callId, progress }) {
      checkCommand(command);
      const output = new CommandOutput(spill, `bash-${callId}`, (text) => progress({ output: text }));
      const end = await runCommand({
        command,
        cwd: workspace.root,
        env,
        timeoutMs,
        signal,
        onOutput: (chunk) => output.push(chunk),
      });
      const said = (await output.finish()).trimEnd();
      const text = [...(said.trim() === "" ? [] : [said]), ...endNotes(end, timeoutMs, said.trim() === "")].join("\n");
      return { content: [{ type: "text", text }], isError: end.exitCode !== 0 || end.stopped !== undefined };
    },
  });
}

function checkCommand(command: string): void {
  if (command.trim() === "") throw new PawlError("INVALID_INPUT", "the command is empty: give a command line");
  if (command.includes("\0")) {
    throw new PawlError(
      "INVALID_INPUT",
      "the command contains a NUL character, which no program can be given: write it as \\0 for printf",
    );
  }
}

/** How it ended and what it left behind, each in a line. */
function endNotes(end: CommandEnd, timeoutMs: number, silent: boolean): string[] {
  const notes = [`[${silent ? "no output; " : ""}${exitText(end)}]`];
  if (end.stopped === "deadline") {
    notes.push(
      `[it ran into its limit of ${timeoutMs} ms and was ended; its effects so far stand. Set timeoutMs if it needs longer]`,
    );
  }
  if (end.stopped === "aborted") notes.push("[it was ended because the call was aborted; its effects so far stand]");
  if (end.group.length > 0) {
    const what = end.stopped
      ? "these processes have survived KILL"
      : "still running in the background, further output is not seen";
    notes.push(`[${what}: ${named(end.group)}]`);
  }
  if (end.left.length > 0)
    notes.push(
      `[still running, detached from the command: ${named(end.left)}; end them with kill if they are not meant to stay]`,
    );
  return notes;
}

function exitText({ exitCode, exitSignal }: CommandEnd): string {
  if (exitCode !== null) return `exit code ${exitCode}`;
  return exitSignal === null ? "no exit seen" : `ended by ${exitSignal}`;
}
