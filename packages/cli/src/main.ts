/** `pawl`: the command line. One clear line for every error, and an exit code that tells (see the README). */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { badInput, exitHelp, exitOfError } from "./exit.ts";

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

function withModel(command: Command): Command {
  return command
    .requiredOption(
      "--model <PROVIDER:ID>",
      "openai-chat:ID (any compatible server), openai:ID (responses) or anthropic:ID",
    )
    .option("--base-url <URL>", "a server of your own, for example http://127.0.0.1:11434/v1")
    .option("--api-key-env <NAME>", "the environment variable that holds the key")
    .option("--cwd <DIR>", "the folder to work in (default: the session's own, else this one)")
    .option("--store <DIR>", "where sessions are kept (default: $PAWL_STORE, else the XDG data folder)")
    .option("--idle-ms <N>", "how long a stream may be silent before it counts as broken", wholeNumber)
    .option("--yes", "allow every tool without asking")
    .option("--json", "one event per line; the last line is a summary (its usage counts every request, lost ones too)");
}

function withStore(command: Command): Command {
  return command.option("--store <DIR>", "where sessions are kept").option("--json", "for programs");
}

let exitCode = 0;

withModel(program.command("run"))
  .description("run one turn in a folder")
  .argument("<prompt>", "what is to be done")
  .option("--session <ID>", "create this session, or go on with it")
  .option("--fork-from <SESSION[:TURN]>", "begin with everything of another session, up to the end of a turn")
  .addHelpText(
    "after",
    `
Examples:
  OPENAI_API_KEY=... pawl run "fix the failing test" --model openai:gpt-5 --yes
  pawl run "what does this do?" --model openai-chat:qwen3 --base-url http://127.0.0.1:11434/v1`,
  )
  .action(async (prompt, options) => {
    const { runPrompt } = await import("./run.ts");
    exitCode = await runPrompt(prompt, options);
  });

withModel(program.command("resume"))
  .description("go on inside a turn that was interrupted")
  .argument("<id>", "the session")
  .action(async (id, options) => {
    const { resumeSession } = await import("./run.ts");
    exitCode = await resumeSession(id, { ...options, session: id });
  });

withStore(program.command("sessions"))
  .description("list sessions, the latest first")
  .option("--limit <N>", "how many", wholeNumber, 50)
  .action(async (options) => {
    const { listSessions } = await import("./inspect.ts");
    exitCode = await listSessions(options);
  });

withStore(program.command("show"))
  .description("the log of a session as a timeline")
  .argument("<id>", "the session")
  .action(async (id, options) => {
    const { showSession } = await import("./inspect.ts");
    exitCode = await showSession(id, options);
  });

withStore(program.command("verify"))
  .description("check the laws on a session's log")
  .argument("<id>", "the session")
  .action(async (id, options) => {
    const { verifySession } = await import("./inspect.ts");
    exitCode = await verifySession(id, options);
  });

withStore(program.command("doctor"))
  .description("say what is wrong with the store, or with one session; change nothing")
  .argument("[id]", "the session (default: the store and every session)")
  .option("--repair", "do what is said to be needed")
  .action(async (id, options) => {
    const { runDoctor } = await import("./doctor.ts");
    exitCode = await runDoctor(id, options);
  });

withStore(program.command("export"))
  .description("write a session as lines of JSON, byte for byte")
  .argument("<id>", "the session")
  .option("--out <FILE>", "into a new file (default: standard output)")
  .action(async (id, options) => {
    const { exportToFile } = await import("./transfer.ts");
    exitCode = await exportToFile(id, options);
  });

withStore(program.command("import"))
  .description("take in an exported session, whole or not at all")
  .argument("<file>", "what export has written")
  .option("--session <ID>", "under another id: a copy that begins with everything of the original")
  .action(async (file, options) => {
    const { importFromFile } = await import("./transfer.ts");
    exitCode = await importFromFile(file, options);
  });

program
  .command("demo")
  .description("watch the agent fix a small project over a connection that breaks; needs no key")
  .option("--protocol <NAME>", "openai-chat, openai or anthropic", "openai-chat")
  .option("--keep", "leave the project and the store where they are")
  .action(async (options) => {
    const { runDemo } = await import("./demo/demo.ts");
    exitCode = await runDemo(options);
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
  const text = `${words}; pawl ${command ? `${command} ` : ""}--help shows how`;
  process.stderr.write(`pawl: ${text}\n`);
  // Whoever reads the last line gets one, whatever was wrong.
  if (args.includes("--json") && (command === "run" || command === "resume")) {
    const { printSummary, summaryOfError } = await import("./summary.ts");
    printSummary(summaryOfError({ name: "PawlError", code: "INVALID_INPUT", message: text }));
  }
  return badInput;
}

try {
  await program.parseAsync();
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
