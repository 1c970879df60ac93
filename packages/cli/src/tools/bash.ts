import { type DoubtfulCall, defineTool, everything, PawlError, type Reconciled, type Tool } from "@pawl/core";
import { thisHolder } from "@pawl/core/node";
import { z } from "zod";
import type { CommandArchive } from "./command-archive.ts";
import type { CommandFolder } from "./command-folder.ts";
import { CommandOutput } from "./command-output.ts";
import { commandFate } from "./command-recovery.ts";
import { type CommandResult, commandResult, type Told } from "./command-result.ts";
import { jobId } from "./job.ts";
import { type Jobs, jobMs } from "./jobs.ts";
import { outputBytes } from "./output-file.ts";
import { OutputReader } from "./output-reader.ts";
import { type Sandbox, sandboxNote } from "./sandbox.ts";
import type { SecretMask } from "./secret-mask.ts";
import type { SpillFolder } from "./spill-folder.ts";
import { type Answer, supervised } from "./supervisor-link.ts";
import type { Workspace } from "./workspace.ts";

/** Tests and builds of most projects fit; a server started by mistake does not hold up a turn for long. */
const defaultTimeoutMs = 120_000;
const longestTimeoutMs = 30 * 60_000;
/** The runtime's deadline comes after ours has had time to end the group, so that the result tells what happened. */
const stopMs = 20_000;
/** What a person who looks into the folder needs of it. */
const describedChars = 10_000;

const inputSchema = z.object({
  command: z.string().describe("The command line, as for bash -c."),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(longestTimeoutMs)
    .optional()
    .describe(`Milliseconds after which it is ended (default ${defaultTimeoutMs}, at most ${longestTimeoutMs}).`),
  background: z
    .boolean()
    .optional()
    .describe(
      "Start it and return at once: the result is a job id for job_output and job_kill. For servers, watchers and long builds.",
    ),
  description: z.string().optional().describe("What it is for, in a few words, for the person who watches."),
});

type Input = z.infer<typeof inputSchema>;

export interface Shell {
  workspace: Workspace;
  spill: SpillFolder;
  archive: CommandArchive;
  env: NodeJS.ProcessEnv;
  sandbox: Sandbox;
  mask: SecretMask;
  jobs: Jobs;
}

/**
 * Runs a command line in the workspace, under a supervisor that outlives this process. Gives its output (both streams in order) and
 * how it ended: an error result unless it exited with 0. Caps: 30,000 characters, start and end; the whole goes to a file that
 * the note names. On abort and deadline the whole process group gets TERM, and KILL two seconds later. After a sudden death of this
 * process the command goes on, and `reconcile` gives the result it would have had; only with an archive that lasts. With `background`
 * the result is a job's id, once it has started.
 */
export function bashTool(shell: Shell): Tool<Input> {
  return defineTool({
    description:
      "Runs a command with bash in the workspace and gives its output and exit code. There is no input (stdin is closed) and no terminal; " +
      "each call is a new shell. A long output is cut in the middle and saved to a file. To leave something running, set background. /tmp may be private to your commands, and what is outside of the workspace read-only. Environment variables that look like keys or tokens are not passed on. " +
      "Prefer read, edit, glob and grep for files.",
    inputSchema,
    effect: "write",
    locks: () => [everything],
    timeoutMs: longestTimeoutMs + stopMs,
    async execute(input, { signal, idempotencyKey, progress }) {
      const { command, timeoutMs = defaultTimeoutMs } = input;
      checkCommand(command);
      signal.throwIfAborted();
      const { workspace, archive, sandbox } = shell;
      if (sandbox.refuses !== undefined) throw new Error(sandbox.refuses);
      if (input.background) return await startJob(shell, input, idempotencyKey, signal);
      const folder = await archive.open(idempotencyKey);
      const cwd = workspace.root;
      await folder.describe({ command: command.slice(0, describedChars), cwd, timeoutMs });
      const told = telling(shell, folder, idempotencyKey, timeoutMs, (text) => progress({ output: text }));
      const env = { ...shell.env, ...sandbox.env };
      const order = { folder: folder.path, command, wrap: sandbox.wrap, cwd, env, timeoutMs, outputBytes };
      try {
        const answer = await supervised(order, { signal, onGrown: (bytes) => told.reader.grown(bytes) });
        return explained(await resultOf(answer, told, signal), sandbox);
      } finally {
        await told.reader.close();
        await archive.settled(folder);
      }
    },
    site: ({ idempotencyKey }) => shell.archive.site(idempotencyKey),
    ...(shell.archive.durable ? { reconcile: (call) => reconcile(shell, call) } : {}),
  });
}

async function startJob(shell: Shell, input: Input, key: string, signal: AbortSignal): Promise<string> {
  const { command, timeoutMs = jobMs } = input;
  const { workspace, archive, sandbox, jobs } = shell;
  const folder = await archive.open(key);
  const cwd = workspace.root;
  const { wrap } = sandbox;
  const job = { startedAt: Date.now(), confined: wrap.length > 0, by: thisHolder() };
  const request = { command: command.slice(0, describedChars), cwd, timeoutMs, job };
  await folder.describe(request);
  return startedWords(
    await jobs.start({ folder, command, wrap, cwd, env: { ...shell.env, ...sandbox.env }, timeoutMs }, request, signal),
  );
}

function startedWords({ id }: { id: string }): string {
  return `${id} was started in the background. See what it says with job_output, end it with job_kill; it ends with this process.`;
}

async function resultOf(answer: Answer, told: Told, signal: AbortSignal): Promise<CommandResult> {
  if (answer.type === "ended") return commandResult(answer.record, told, answer.rescued);
  if (answer.type === "lost") return lostResult(told);
  signal.throwIfAborted();
  throw new Error(answer.why);
}

/** The supervisor has died and we have not: the same questions as after our own death. */
async function lostResult(told: Told): Promise<CommandResult> {
  const fate = await commandFate(told.folder, told.timeoutMs);
  switch (fate.verdict) {
    case "done":
      return commandResult(fate.record, told);
    case "not-done":
      throw new Error(`the supervisor of commands has died: ${fate.why}`);
    case "unknown":
      throw new Error(
        "the supervisor of commands was killed while the command ran. What it started has been ended where it could be found; it may " +
          "have taken effect in whole or in part. Do not simply repeat it. First look at what it would have changed, then decide.",
      );
  }
}

async function reconcile(shell: Shell, call: DoubtfulCall<Input>): Promise<Reconciled> {
  const { input, idempotencyKey, enteredAt, signal } = call;
  const { timeoutMs = defaultTimeoutMs } = input;
  const folder = await shell.archive.find(idempotencyKey, enteredAt);
  if (folder === undefined) return { verdict: "unknown" };
  if (input.background) return await jobFate(folder);
  const fate = await commandFate(folder, timeoutMs, signal);
  if (fate.verdict !== "done") return { verdict: fate.verdict };
  const told = telling(shell, folder, idempotencyKey, timeoutMs, () => undefined);
  return { verdict: "done", output: await commandResult(fate.record, told) };
}

function explained(result: CommandResult, { wrap }: Sandbox): CommandResult {
  if (wrap.length === 0 || !result.isError) return result;
  return { ...result, content: result.content.map((part) => ({ ...part, text: part.text + sandboxNote(part.text) })) };
}

/** Its start is all that the call was for: what became of it since is for job_output to say. */
async function jobFate(folder: CommandFolder): Promise<Reconciled> {
  if (await folder.claim({ by: "recovery" })) return { verdict: "not-done" };
  const record = await folder.readExit();
  if (record?.ran === false) return { verdict: "not-done" };
  return { verdict: "done", output: startedWords({ id: jobId(folder) }) };
}

function telling(
  { spill, sandbox, mask }: Shell,
  folder: CommandFolder,
  key: string,
  timeoutMs: number,
  progress: (text: string) => void,
): Told {
  const output = new CommandOutput(progress, mask);
  const reader = new OutputReader(folder.output, output);
  return { folder, spill, name: `bash-${key}`, timeoutMs, output, reader, confined: sandbox.wrap.length > 0 };
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
