/** What a turn is driven with, settled from the command line, both configuration files and the environment. */
import { present } from "./config/layer.ts";
import { type Loaded, loadConfig, passedOverWords } from "./config/load.ts";
import { projectFolders, stateFolder, userFolder } from "./config/place.ts";
import type { Config, Mode, SandboxMode } from "./config/schema.ts";
import { type Guidance, guidanceFor } from "./guidance/guidance.ts";
import { type ChosenModel, chooseModel, type ModelOptions } from "./model.ts";
import { noSandbox, openSandbox, type Sandbox } from "./tools/sandbox.ts";

export interface SetupOptions extends ModelOptions {
  idleMs?: number;
  /** The model's context window, tokens. */
  window?: number;
  mode?: Mode;
  sandbox?: SandboxMode;
  /** The same as mode `all`. */
  yes?: boolean;
}

export interface Setup {
  chosen: ChosenModel;
  config: Loaded;
  /** What people have written for the model. */
  guidance: Guidance;
  /** What a person should be warned of, a line each. */
  notices: string[];
}

/** Fails with INVALID_INPUT. Writes nothing. */
export async function setUp(options: SetupOptions, cwd: string): Promise<Setup> {
  const config = loadConfig(cwd, flagsOf(options));
  const { model, baseUrl, apiKeyEnv, providers } = config.values;
  const { local } = options;
  // A server that was asked for by hand needs nothing of what a file says about another.
  const wanted =
    local === undefined
      ? present({ model, baseUrl, apiKeyEnv })
      : present({ local, model: options.model, baseUrl: options.baseUrl });
  const packageFolders = config.project.trust === "trusted" ? projectFolders(cwd) : [];
  const named = await chooseModel(wanted, { providers, packageFolders });
  // A person's own file is their own word; what another's says of money, and of who reads along, is told.
  const chosen =
    config.origins["model"]?.[0] === "project" ? { why: "this project's configuration names it", ...named } : named;
  const guidance = await guidanceFor(cwd, config);
  const unread = guidance.unread.map(
    (path) =>
      `${path}, which the configuration names as instructions, was not read: it is not there, is empty or no file, or lies outside of the project`,
  );
  return { chosen, config, guidance, notices: [...passedOverWords(config), ...unread] };
}

/** Where commands run. `dir` is the store's folder, which is there by now: what is not there cannot be hidden. */
export async function sandboxOf({ config, guidance }: Setup, cwd: string, dir: string): Promise<Sandbox> {
  const { mode, sandbox } = config.values;
  // Nothing runs while a plan is made.
  if (mode === "plan") return noSandbox;
  return await openSandbox({
    ...sandbox,
    cwd,
    own: [dir, userFolder(), stateFolder()],
    visible: guidance.readable,
    env: process.env,
  });
}

function flagsOf({ model, baseUrl, apiKeyEnv, idleMs, window, mode, sandbox, yes }: SetupOptions): Config {
  return present({ model, baseUrl, apiKeyEnv, idleMs, window, sandbox, mode: yes ? "all" : mode });
}
