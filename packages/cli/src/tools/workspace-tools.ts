/** The tools of the coding agent, for one workspace. */

import type { ToolSet } from "@pawl/core";
import { type Asker, askTool } from "./ask.ts";
import { bashTool } from "./bash.ts";
import { CommandArchive } from "./command-archive.ts";
import { commandEnvironment } from "./command-env.ts";
import { editTool } from "./edit.ts";
import { fetchTool } from "./fetch.ts";
import { FileMemory } from "./file-memory.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { jobKillTool, jobOutputTool } from "./job-tools.ts";
import { Jobs } from "./jobs.ts";
import { lsTool } from "./ls.ts";
import { maskedTools } from "./masked-tools.ts";
import type { FetchGuard } from "./page-request.ts";
import { readTool } from "./read.ts";
import { noSandbox, type Sandbox } from "./sandbox.ts";
import { SecretMask } from "./secret-mask.ts";
import { SpillFolder } from "./spill-folder.ts";
import { todoTool } from "./todo.ts";
import { Workspace } from "./workspace.ts";
import { writeTool } from "./write.ts";

export interface WorkspaceToolsOptions {
  /** The folder that the tools work in and that the file tools stay inside of. */
  cwd: string;
  /** What commands get as their environment, as it is; default: that of this process without what looks like a secret (`commandEnvironment`). */
  env?: NodeJS.ProcessEnv | undefined;
  /** Where outputs go that are too long for a result; default: a fresh folder among the temporary files, made when needed. */
  spillDir?: string | undefined;
  /**
   * Where commands leave what a later process needs to give their true results after a sudden death of this one: a folder beside
   * the store, the same for whoever may take a session over. Without it, such a command's outcome is unknown.
   */
  commandDir?: string | undefined;
  /** Where commands run; default: as they are. */
  sandbox?: Sandbox | undefined;
  /** What must not be told of results. */
  mask?: SecretMask | undefined;
  /** Folders beside the workspace that the read tools may look into. */
  readable?: readonly string[] | undefined;
  /** Which private addresses `fetch` may fetch from; default: none. */
  fetch?: FetchGuard | undefined;
  /** Whether the model takes pictures: then `read` gives them; default `name`. */
  images?: "send" | "name" | undefined;
  /** Who answers a question of the model; without one it is told that nobody can be asked. */
  asker?: Asker | undefined;
}

/**
 * `read`, `write`, `edit`, `bash` with `job_output` and `job_kill`, `ls`, `glob`, `grep`, `fetch`, `todo` and `ask`, which know of each other what the agent has read. Throws
 * `INVALID_INPUT` if `cwd` is not a folder.
 *
 * Locks: a file tool locks the file's real path; `ls`, `glob` and `grep` read everything (`*`), so that they wait for whoever
 * writes and overlap with each other and with reads; `bash` writes everything, but a job that it started holds no lock.
 */
export function workspaceTools(options: WorkspaceToolsOptions): ToolSet {
  const { cwd, env = commandEnvironment(process.env), spillDir, commandDir, sandbox = noSandbox } = options;
  const { mask = new SecretMask([]), readable = [] } = options;
  const workspace = new Workspace(cwd);
  for (const folder of readable) workspace.giveForReading(folder);
  const memory = new FileMemory();
  const archive = new CommandArchive(commandDir);
  const jobs = new Jobs(archive, workspace.root);
  const spill = new SpillFolder(spillDir, (folder) => workspace.giveForReading(folder));
  const tools = {
    read: readTool(workspace, memory, options.images),
    write: writeTool(workspace, memory),
    edit: editTool(workspace, memory),
    bash: bashTool({ workspace, spill, archive, env, sandbox, mask, jobs }),
    job_output: jobOutputTool(jobs, spill, mask),
    job_kill: jobKillTool(jobs, spill, mask),
    fetch: fetchTool(options.fetch ?? {}),
    ls: lsTool(workspace),
    glob: globTool(workspace),
    grep: grepTool(workspace, env),
    todo: todoTool(),
    ask: askTool(options.asker),
  };
  return maskedTools(tools, mask);
}
