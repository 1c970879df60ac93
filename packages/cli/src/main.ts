/** `pawl`: the command line. One clear line for every error, and an exit code that tells (see the README). */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { badInput, exitHelp, exitOfError, readerGone } from "./exit.ts";
import { addSetupCommands } from "./setup-commands.ts";
import { anyWay, withStore } from "./store-options.ts";

// `pawl show | head`: whoever has read enough is no fault. A turn hears of it, too, and ends cleanly.
process.stdout.on("error", () => {
  if (process.stdout.listenerCount("error") === 1) process.exit(readerGone);
});

const program = new Command("pawl")
  .description("A coding agent whose turns never slip back.")
  .version(packageJson.version, "-v, --version")
  .exitOverride()
  .configureOutput({ outputError: () => {} })
  .addHelpText("after", exitHelp);

function wholeNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("a whole number of 0 or more is needed.");
}

function tokens(text: string): number {
  const [, figure = text, thousands] = /^(.*\d)(k)$/i.exec(text) ?? [];
  const number = wholeNumber(figure.replace(/(?<=\d)[_,](?=\d)/g, "")) * (thousands ? 1000 : 1);
  if (number > 0) return number;
  throw new InvalidArgumentError("a number of tokens is needed, for example 128000.");
}

function share(text: string): number {
  const number = Number(text);
  if (/^[\d.]+$/.test(text) && number >= 0 && number < 1) return number;
  throw new InvalidArgumentError("a share from 0 to below 1 is needed, for example 0.3.");
}

function withModel(command: Command): Command {
  return command
    .option(
      "--model <PROVIDER:ID>",
      "anthropic:ID, openai:ID, openai-chat:ID (any compatible server), an AI SDK package:ID (default: what the configuration or a key in the environment says; see `pawl models`)",
    )
    .option("--local [URL]", "a server on this machine: Ollama, llama.cpp, vLLM, or the address")
    .option("--base-url <URL>", "a server of your own, for example http://127.0.0.1:11434/v1")
    .option("--api-key-env <NAME>", "the environment variable that holds the key")
    .option("--cwd <DIR>", "the folder to work in (default: the session's own, else this one)")
    .option("--store <DIR>", "where sessions are kept (default: $PAWL_STORE, else the XDG data folder)")
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

function withSummary(command: Command): Command {
  return command.option(
    "--json",
    "one event per line; the last line is a summary (its usage counts every request of the session, lost ones too)",
  );
}

let exitCode = 0;

withSummary(withModel(program.command("run")))
  .description("run one turn in a folder")
  .argument("<prompt>", "what is to be done")
  .option("--session <ID>", "create this session, or go on with it (its id, or its name)")
  .option("--fork-from <SESSION[:TURN]>", "begin with everything of another session, up to the end of a turn")
  .addHelpText(
    "after",
    `
Examples:
  ANTHROPIC_API_KEY=... pawl run "fix the failing test" --mode accept-edits
  pawl run "explain main.ts" --local
  pawl run "what does this do?" --model openai-chat:qwen3 --base-url http://127.0.0.1:11434/v1`,
  )
  .action(async (prompt, options) => {
    const { runPrompt } = await import("./run.ts");
    exitCode = await runPrompt(prompt, options);
  });

withSummary(withModel(program.command("resume")))
  .description("go on inside a turn whose process died")
  .argument("<id>", `the session: ${anyWay}`)
  .addHelpText("after", "\nExample:\n  pawl resume s_01K9WBZ --model openai:gpt-5")
  .action(async (id, options) => {
    const { resumeSession } = await import("./run.ts");
    exitCode = await resumeSession(id, options);
  });

withSummary(withModel(program.command("continue")))
  .description("follow a turn that failed, was rate-limited or was stopped, without a new input")
  .argument("<id>", `the session: ${anyWay}`)
  .addHelpText("after", "\nExample:\n  pawl continue s_01K9WBZ --model anthropic:claude-sonnet-4-5")
  .action(async (id, options) => {
    const { continueSession } = await import("./run.ts");
    exitCode = await continueSession(id, options);
  });

withStore(program.command("settle"))
  .description("close a turn whose process died, and run nothing: every call gets its result")
  .argument("<id>", `the session: ${anyWay}`)
  .addHelpText("after", "\nExample:\n  pawl settle s_01K9WBZ")
  .action(async (id, options) => {
    const { settleSession } = await import("./settling.ts");
    exitCode = await settleSession(id, options);
  });

withModel(program.command("chat"))
  .description("an interactive session in this folder: the latest one, or another; `pawl` alone is the same")
  .argument("[id]", `the session: ${anyWay}`)
  .option("--plain", "line by line, nothing is drawn again: for screen readers, dumb terminals and pipes")
  .addHelpText(
    "after",
    "\nExamples:\n  pawl --model openai:gpt-5\n  pawl chat release\n  pawl chat --plain < questions.txt",
  )
  .action(async (id, options) => {
    const { runChat } = await import("./chat/main.ts");
    exitCode = await runChat(id, options);
  });

withStore(program.command("sessions"))
  .description("list sessions, the latest first")
  .option("--search <TEXT>", "those with it in their title, name, id or folder")
  .option("--cwd [DIR]", "those of this folder, or of DIR, and below")
  .option("--limit <N>", "how many", wholeNumber, 50)
  .option("--cursor <TEXT>", "go on behind the session that a page ended with")
  .addOption(new Option("--all", "every one").conflicts("cursor"))
  .option("--tasks", "also those that other sessions gave a task to")
  .addHelpText(
    "after",
    "\nExamples:\n  pawl sessions --cwd\n  pawl sessions --search parser\n  pawl sessions --json --all",
  )
  .action(async (options) => {
    const { listSessions } = await import("./session-list.ts");
    exitCode = await listSessions(options);
  });

withStore(program.command("show"))
  .description("the log of a session as a timeline, and how to go on")
  .argument("<id>", `the session: ${anyWay}`)
  .addHelpText("after", "\nExample:\n  pawl show s_01K9WBZ")
  .action(async (id, options) => {
    const { showSession } = await import("./inspect.ts");
    exitCode = await showSession(id, options);
  });

withStore(program.command("follow"))
  .description("watch a session that another process drives, live, until its turn ends; touches nothing")
  .argument("<id>", `the session: ${anyWay}`)
  .option("--after <SEQ>", "begin behind this record (default: with the open turn; 0: from the start)", wholeNumber)
  .option("--forever", "go on with later turns, until Ctrl-C")
  .addHelpText("after", "\nExample:\n  pawl follow s_01K9WBZ")
  .action(async (id, options) => {
    const { followSession } = await import("./follow.ts");
    exitCode = await followSession(id, options);
  });

withStore(program.command("verify"))
  .description("check the laws on a session's log")
  .argument("<id>", `the session: ${anyWay}`)
  .addHelpText("after", "\nExample:\n  pawl verify s_01K9WBZ --json")
  .action(async (id, options) => {
    const { verifySession } = await import("./inspect.ts");
    exitCode = await verifySession(id, options);
  });

withStore(program.command("fork"))
  .description("copy a session up to the end of a turn; prints the new id")
  .argument("<id[:turn]>", "the session, and a turn's number from 1 or its id (default: all of it)")
  .option("--session <ID>", "the new session's id")
  .addHelpText("after", "\nExamples:\n  pawl fork s_01K9WBZ\n  NEW=$(pawl fork release:2)")
  .action(async (place, options) => {
    const { forkAt } = await import("./branch.ts");
    exitCode = await forkAt(place, options);
  });

withStore(program.command("rewind"))
  .description("go back to the end of a turn; the log until now is kept, and a name moves")
  .argument("<id[:turn]>", "the session, and a turn's number (default: the last turn is taken back; 0: all of them)")
  .option("--session <ID>", "the new session's id")
  .addHelpText("after", "\nExamples:\n  pawl rewind release\n  pawl rewind release:2")
  .action(async (place, options) => {
    const { rewindTo } = await import("./branch.ts");
    exitCode = await rewindTo(place, options);
  });

withStore(program.command("diff"))
  .description("what the last turn that changed files, or everything since a step, has changed in the folder")
  .argument("[id]", `the session: ${anyWay} (default: the latest of this folder)`)
  .argument(
    "[step]",
    "since this turn (2), this step of it (2.3), or a step's id (default: the last turn with effects)",
  )
  .option("--stat", "figures for each file instead of its lines")
  .addHelpText(
    "after",
    "\nExamples:\n  pawl diff\n  pawl diff release 2 --stat\n  pawl diff s_01K9WBZ 2.3 | git apply --reverse",
  )
  .action(async (id, step, options) => {
    const { showDiff } = await import("./diff.ts");
    exitCode = await showDiff(id, step, options);
  });

withStore(program.command("undo"))
  .description("files and conversation go back to before a turn or a step, after showing what changes; the log is kept")
  .argument("[id]", `the session: ${anyWay} (default: the latest of this folder)`)
  .argument(
    "[step]",
    "before this turn (2), this step of it (2.3), or a step's id (default: the last turn with effects)",
  )
  .option("--yes", "without asking")
  .addHelpText(
    "after",
    "\nIgnored files (build output, node_modules) are not touched. pawl redo takes it back.\n\nExamples:\n  pawl undo\n  pawl undo release 2.3",
  )
  .action(async (id, step, options) => {
    const { undo } = await import("./undo.ts");
    exitCode = await undo(id, step, options);
  });

withStore(program.command("redo"))
  .description("takes back an undo: files and conversation come back as they were when it was done")
  .argument("[id]", `the session that the undo led to: ${anyWay} (default: the latest of this folder)`)
  .option("--yes", "without asking")
  .addHelpText("after", "\nExample:\n  pawl undo && pawl redo")
  .action(async (id, options) => {
    const { redo } = await import("./undo.ts");
    exitCode = await redo(id, options);
  });

withStore(program.command("name"))
  .description("call a session by a name, wherever an id is asked for")
  .argument("<id>", "the session; with one word alone, the name to look up")
  .argument("[name]", "the name")
  .option("--move", "take a name over from another session")
  .option("--remove", "the name goes, the session stays")
  .addHelpText(
    "after",
    "\nExamples:\n  pawl name s_01K9WBZ release\n  pawl name release            # which session is that?\n  pawl name release --remove",
  )
  .action(async (id, name, options) => {
    const { nameSession } = await import("./name.ts");
    exitCode = await nameSession(id, name, options);
  });

withStore(program.command("compact"))
  .description("leave the older part of a conversation out of what the model sees, without asking a model")
  .argument("<id>", `the session: ${anyWay}`)
  .option("--keep <SHARE>", "the share that stays, its newest part (default: 0.3)", share)
  .addHelpText(
    "after",
    "\nExample:\n  pawl compact s_01K9WBZ --keep 0.2 && pawl continue s_01K9WBZ --model openai:gpt-5",
  )
  .action(async (id, options) => {
    const { compactSession } = await import("./dropping.ts");
    exitCode = await compactSession(id, options);
  });

withStore(program.command("delete"))
  .description("delete a session, after asking; forks keep what they begin with")
  .argument("<id>", `the session: ${anyWay}`)
  .option("--yes", "without asking")
  .addHelpText("after", "\nExample:\n  pawl delete s_01K9WBZ --yes")
  .action(async (id, options) => {
    const { deleteSession } = await import("./deletion.ts");
    exitCode = await deleteSession(id, options);
  });

withStore(program.command("erase"))
  .description("erase the content of one record, after showing it; its place, ids and hash stay")
  .argument("<id>", `the session: ${anyWay}`)
  .argument("<seq>", "the record's number, as `pawl show` tells it", wholeNumber)
  .option("--yes", "without asking")
  .addHelpText("after", "\nExample:\n  pawl erase s_01K9WBZ 12")
  .action(async (id, seq, options) => {
    const { eraseRecord } = await import("./erasing.ts");
    exitCode = await eraseRecord(id, seq, options);
  });

withStore(program.command("doctor"))
  .description("say what is wrong with the store, or with one session; change nothing")
  .argument("[id]", "the session (default: the store and every session)")
  .option("--repair", "do what is said to be needed")
  .addHelpText("after", "\nExamples:\n  pawl doctor\n  pawl doctor s_01K9WBZ --repair")
  .action(async (id, options) => {
    const { runDoctor } = await import("./doctor.ts");
    exitCode = await runDoctor(id, options);
  });

withStore(program.command("export"))
  .description("write a session as lines of JSON, byte for byte")
  .argument("<id>", `the session: ${anyWay}`)
  .option("--out <FILE>", "into a new file (default: standard output)")
  .addHelpText("after", "\nExample:\n  pawl export s_01K9WBZ --out session.jsonl")
  .action(async (id, options) => {
    const { exportToFile } = await import("./transfer.ts");
    const { addressOf } = await import("./address.ts");
    const { visitStore } = await import("./visit.ts");
    const session = await visitStore(options, (runtime) => addressOf(runtime, id));
    exitCode = await exportToFile(session, options);
  });

withStore(program.command("import"))
  .description("take in an exported session, or a conversation that another program kept; whole or not at all")
  .argument("<file>", "what export has written, or messages: one a line, or one JSON document")
  .option("--session <ID>", "under another id; of an exported session, a copy that begins with everything of it")
  .option("--format <NAME>", "pawl, ai-sdk, openai-chat or anthropic (default: what the messages look like)")
  .option("--model <PROVIDER:ID>", "who gave the answers: signatures are kept for this model alone (default: dropped)")
  .addHelpText("after", "\nExamples:\n  pawl import session.jsonl\n  pawl import messages.json --format openai-chat")
  .action(async (file, options) => {
    const { importFromFile } = await import("./import.ts");
    exitCode = await importFromFile(file, options);
  });

program
  .command("demo")
  .description("watch the agent fix a small project over a connection that breaks; needs no key")
  .option("--protocol <NAME>", "openai-chat, openai or anthropic", "openai-chat")
  .option("--keep", "leave the project and the store where they are")
  .addHelpText("after", "\nExample:\n  pawl demo --protocol anthropic")
  .action(async (options) => {
    const { runDemo } = await import("./demo/demo.ts");
    exitCode = await runDemo(options);
  });

addSetupCommands(program, (code) => {
  exitCode = code;
});

/** What commander found wrong, in our own one line. */
async function refuse({ code, message }: CommanderError): Promise<number> {
  // Without a command: the help has been printed in place of a message.
  if (code === "commander.help") return badInput;
  const args = process.argv.slice(2);
  const command = program.commands.find((each) => each.name() === args[0])?.name();
  const words = message
    .replace(/^error: /, "")
    .replaceAll("\n", " ")
    .replace(/\.$/, "");
  const [prompt = ""] = args;
  const isPrompt = code === "commander.unknownCommand" && prompt.includes(" ");
  const how = isPrompt
    ? `pawl run ${JSON.stringify(prompt)} runs it`
    : `pawl ${command ? `${command} ` : ""}--help shows how`;
  const text = `${words}; ${how}`;
  process.stderr.write(`pawl: ${text}\n`);
  // Whoever reads the last line gets one, whatever was wrong.
  if (args.includes("--json") && (command === "run" || command === "resume" || command === "continue")) {
    const { printSummary, summaryOfError } = await import("./summary.ts");
    printSummary(summaryOfError({ name: "PawlError", code: "INVALID_INPUT", message: text }));
  }
  return badInput;
}

/** Options that no command stands before are a chat's; `pawl` with nothing at all is one where there is a person to talk to. */
function spoken(args: readonly string[]): string[] {
  const own = args.some((arg) => ["-h", "--help", "-v", "--version"].includes(arg));
  const isPerson = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const isChat = args[0] === undefined ? isPerson : args[0].startsWith("-") && !own;
  return isChat ? ["chat", ...args] : [...args];
}

try {
  await program.parseAsync(spoken(process.argv.slice(2)), { from: "user" });
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version are no errors; commander has printed them.
    exitCode = error.exitCode === 0 ? 0 : await refuse(error);
  } else {
    process.stderr.write(`pawl: ${error instanceof Error ? error.message : String(error)}\n`);
    if (exitOfError(error) === 1 && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    exitCode = exitOfError(error);
  }
}
process.exitCode = exitCode;
