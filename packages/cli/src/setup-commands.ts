/** The commands that are about Pawl itself and not about one turn: what holds, what may run, what it costs. */
import type { Command } from "commander";
import { addPrune } from "./prune-command.ts";
import { anyWay, withStore } from "./store-options.ts";

const inFolder = (command: Command): Command =>
  command.option("--cwd <DIR>", "the project's folder (default: this one)").option("--json", "for programs");

/** `done` hears the exit code. */
export function addSetupCommands(program: Command, done: (code: number) => void): void {
  addConfig(program, done);
  addGrants(program, done);
  addCost(program, done);
  addShell(program, done);
  addPrune(program, done);
  inFolder(program.command("models"))
    .description("which models can be used now, and what is missing for the others")
    .argument("[provider]", "one provider, with all of its models; `local` for servers on this machine")
    .option("--all", "every model of every provider")
    .addHelpText("after", "\nExamples:\n  pawl models\n  pawl models openrouter\n  pawl models local --json")
    .action(async (provider, options) => {
      const { listModels } = await import("./models/list.ts");
      done(await listModels(provider, options));
    });
}

function addGrants(program: Command, done: (code: number) => void): void {
  withStore(program.command("grants"))
    .description("what you have answered with *always* in a session, and taking it back")
    .argument("<id>", `the session: ${anyWay}`)
    .option("--revoke <N>", "take the answer of this number back")
    .addHelpText("after", "\nExamples:\n  pawl grants s_01K9WBZ\n  pawl grants s_01K9WBZ --revoke 2")
    .action(async (id, options) => {
      const { listGrants } = await import("./grants.ts");
      done(await listGrants(id, options));
    });
}

function addCost(program: Command, done: (code: number) => void): void {
  withStore(program.command("cost"))
    .description(
      "what sessions have used: answers and what was lost on the way, in tokens and in money where a price is known",
    )
    .argument("[id]", `one session: ${anyWay} (default: every one, and their sum)`)
    .addHelpText("after", "\nExamples:\n  pawl cost\n  pawl cost s_01K9WBZ --json")
    .action(async (id, options) => {
      const { showCost } = await import("./cost.ts");
      done(await showCost(id, options));
    });
}

function addShell(program: Command, done: (code: number) => void): void {
  program
    .command("completion")
    .description("a script that completes commands and options: bash, zsh or fish")
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText("after", '\nExamples:\n  eval "$(pawl completion bash)"\n  pawl completion fish | source')
    .action(async (shell: string) => {
      const { completionScript } = await import("./completion.ts");
      process.stdout.write(completionScript(program, shell));
      done(0);
    });
  program
    .command("simulate")
    .description("drive the whole runtime through seeded faults; only in a clone of the repository")
    .argument("[arguments...]", "what `npm run simulate` takes")
    .allowUnknownOption()
    .addHelpText("after", "\nExample:\n  pawl simulate --seeds 1..1000")
    .action(async (args: string[]) => {
      const { simulate } = await import("./simulation.ts");
      done(await simulate(args));
    });
}

function addConfig(program: Command, done: (code: number) => void): void {
  const config = inFolder(program.command("config"))
    .description("the configuration that holds here, and whose word each setting is")
    .addHelpText("after", "\nExamples:\n  pawl config\n  pawl config path\n  pawl config trust ~/src/project")
    .action(async (options) => {
      const { showConfig } = await import("./config/overview.ts");
      done(showConfig(options));
    });
  config
    .command("path")
    .description("where configuration is read from")
    .addHelpText("after", "\nExample:\n  $EDITOR $(pawl config path --json | jq -r .user)")
    .action(async (_, command: Command) => {
      const { showPaths } = await import("./config/overview.ts");
      done(showPaths(command.optsWithGlobals()));
    });
  config
    .command("trust")
    .description("believe a folder's configuration as it is now: what it lets run, reach and cost")
    .argument("[dir]", "the project's folder (default: this one)")
    .option("--remove", "believe it no longer")
    .addHelpText("after", "\nExample:\n  pawl config trust ~/src/project")
    .action(async (dir: string | undefined, _, command: Command) => {
      const { trustFolder } = await import("./config/overview.ts");
      const options: { cwd?: string; remove?: boolean; json?: boolean } = command.optsWithGlobals();
      done(trustFolder(dir ?? options.cwd, options));
    });
}
