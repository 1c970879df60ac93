/** What every command says alike that drives a turn: the model, the folder, what may run. */
import { type Command, Option } from "commander";
import { tokens, wholeNumber } from "./argument.ts";
import { storeOption } from "./store-options.ts";

/** A turn in one folder. */
export function withModel(command: Command): Command {
  return withDriving(command).option(
    "--cwd <DIR>",
    "the folder to work in (default: the session's own, else this one)",
  );
}

/** What turns are driven with, wherever. */
export function withDriving(command: Command): Command {
  return storeOption(
    command,
    "where sessions are kept: a folder, or postgres://USER@HOST/DATABASE (default: $PAWL_STORE, the configuration, the XDG data folder)",
  )
    .option(
      "--model <PROVIDER:ID>",
      "anthropic:ID, openai:ID, openai-chat:ID (any compatible server), an AI SDK package:ID (default: what the configuration or a key in the environment says; see `pawl models`)",
    )
    .option("--local [URL]", "a server on this machine: Ollama, llama.cpp, vLLM, or the address")
    .option("--base-url <URL>", "a server of your own, for example http://127.0.0.1:11434/v1")
    .option("--api-key-env <NAME>", "the environment variable that holds the key")
    .option("--idle-ms <N>", "how long a stream may be silent before it counts as broken", wholeNumber)
    .option(
      "--window <TOKENS>",
      "the model's context window: the conversation is then shortened before it is full",
      tokens,
    )
    .addOption(
      new Option(
        "--mcp-config <FILE>",
        'MCP servers besides those of the configuration: { "mcpServers": { "NAME": { … } } }',
      ).hideHelp(),
    )
    .addOption(
      new Option(
        "--mode <MODE>",
        "plan: only what reads; ask: before anything is changed (default); accept-edits: edits run, commands are asked; all: everything",
      ).choices(["plan", "ask", "accept-edits", "all"]),
    )
    .addOption(
      new Option("--sandbox <HOW>", "where commands run: auto (default), require, off").choices([
        "auto",
        "require",
        "off",
      ]),
    )
    .addOption(new Option("--yes", "the same as --mode all").conflicts("mode"));
}

/** Of a session that is made, which machines may drive it. */
export function withWorkspace(command: Command): Command {
  return command.option(
    "--workspace <NAME>",
    "of a new session: only workers that are started with this name drive it (a fork: default its parent's)",
  );
}

export function withSummary(command: Command): Command {
  return command.option(
    "--json",
    "one event per line; the last line is a summary (its usage counts every request of the session, lost ones too)",
  );
}
