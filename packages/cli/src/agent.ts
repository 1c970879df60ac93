/** The coding agent: instructions, tools and rules for one workspace. */

import { platform } from "node:os";
import { type Agent, type Approver, type Runtime, type ToolSet, taskTool } from "@pawl/core";
import type { Mode } from "./config/schema.ts";
import { maskedModel } from "./masked-model.ts";
import { priceOf, pricingFor } from "./money.ts";
import { modeInstruction, permissionFor } from "./permission.ts";
import { storePlaces, storeSecrets } from "./place.ts";
import type { Setup } from "./setup.ts";
import { folderSnapshotter } from "./snapshot/snapshotter.ts";
import { subagents } from "./subagents.ts";
import type { TaskWatch } from "./task-watch.ts";
import type { Asker } from "./tools/ask.ts";
import { allowedNames, commandEnvironment, withheldSecrets } from "./tools/command-env.ts";
import { maskedTools } from "./tools/masked-tools.ts";
import { realPath } from "./tools/real-path.ts";
import type { Sandbox } from "./tools/sandbox.ts";
import { SecretMask } from "./tools/secret-mask.ts";
import { workspaceTools } from "./tools/workspace-tools.ts";

/** Who sits there and can be asked. */
export interface Person {
  approver: Approver;
  /** Questions of tasks, where they are put in other words. */
  taskApprover?: Approver;
  asker: Asker;
  /** They have said yes to everything in this run. */
  readonly allAllowed: boolean;
}

export interface AgentOptions {
  runtime: Runtime;
  setup: Setup;
  /** Where commands run. */
  sandbox: Sandbox;
  cwd: string;
  /** The store's folder: beside the log stand long outputs, what recovery needs of commands, and the states of folders. */
  dir: string;
  /** As `--store` named it. */
  store: string | undefined;
  /** Undefined: nobody sits here. */
  person: Person | undefined;
  /** What becomes of a question where nobody sits here; default: it is refused at once. */
  unanswered?: NonNullable<Agent["unanswered"]>;
  /** Hears what happens in the sessions of tasks. */
  tasks: TaskWatch;
  /** Hosts that the person has named. */
  named: ReadonlySet<string>;
  /** Tools beside those of the workspace: of MCP servers. */
  serverTools?: ToolSet;
}

export function codingAgent({
  runtime,
  setup,
  sandbox,
  cwd,
  dir,
  store,
  person,
  unanswered,
  tasks,
  named,
  serverTools = {},
}: AgentOptions): Agent {
  const { chosen } = setup;
  const { idleMs, window, mode, env, pricing } = setup.config.values;
  const price = pricingFor(pricing, chosen.word);
  const allow = allowedNames(process.env, env);
  const secrets = withheldSecrets(process.env, allow);
  const key = chosen.key === undefined ? [] : [{ name: chosen.keyEnv, value: chosen.key }];
  const mask = new SecretMask([...key, ...secrets, ...storeSecrets(store)]);
  const places = storePlaces(dir);
  const tools = () => ({
    ...workspaceTools({
      cwd,
      env: commandEnvironment(withoutKey(process.env, chosen.keyEnv, allow), allow),
      spillDir: places.spill,
      commandDir: places.commands,
      sandbox,
      readable: setup.guidance.readable,
      mask,
      images: chosen.images,
      asker: person?.asker,
    }),
    ...maskedTools(serverTools, mask),
  });
  const base: Omit<Agent, "tools" | "instructions"> = {
    model: maskedModel(chosen.model, mask),
    ...(chosen.providerOptions ? { providerOptions: chosen.providerOptions } : {}),
    ...(chosen.images ? { images: chosen.images } : {}),
    snapshot: folderSnapshotter(cwd, places.snapshots),
    permission: permissionFor(setup.config.values, {
      cwd,
      real: (path) => realPath(cwd, path),
      allAllowed: () => person?.allAllowed ?? false,
      named: (host) => named.has(host),
    }),
    ...(person ? { approver: person.approver } : {}),
    ...(unanswered ? { unanswered } : {}),
    ...(price ? { price: (usage) => priceOf(usage, price) } : {}),
    ...(window === undefined ? {} : { windowTokens: window }),
    ...(idleMs === undefined ? {} : { watch: { firstMs: idleMs, silenceMs: idleMs } }),
  };
  const task = taskTool({
    runtime,
    agents: subagents({ cwd, base, tools, notes: [...modeInstruction(mode), setup.guidance.text] }),
    ...(person ? { approver: person.taskApprover ?? person.approver } : {}),
    watch: (item, child) => tasks.hear(item, child),
  });
  const told = [instructions(cwd, mode), setup.guidance.text].filter((text) => text !== "").join("\n\n");
  return { ...base, instructions: told, tools: { ...tools(), task } };
}

/** Whatever it is called: the key of the model is none of a command's, unless a person says so. */
function withoutKey(env: NodeJS.ProcessEnv, name: string, allow: readonly string[]): NodeJS.ProcessEnv {
  if (allow.includes(name)) return env;
  const { [name]: _, ...others } = env;
  return others;
}

function instructions(cwd: string, mode: Mode): string {
  return [
    "You are Pawl, a coding agent. You work in one folder with the tools you are given.",
    `The folder is ${cwd}, on ${platform()}. Paths are relative to it.`,
    "Look before you change: read a file before you edit it, and search instead of guessing.",
    "Make the smallest change that does what was asked, in the style of the code around it.",
    "Check your work: run the project's tests or the program itself when there is a way to.",
    "A result that begins with TOOL_OUTCOME_UNKNOWN may have taken effect: look at what it would have changed before you decide.",
    "When you are done, say in a few sentences what you changed and how you know that it works.",
    ...modeInstruction(mode),
  ].join("\n");
}
