/** `pawl`: the command line. One clear line for every error, and an exit code that tells (see the README). */
import { Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addChangingCommands } from "./changing-commands.ts";
import { badInput, exitHelp, exitOfError, readerGone } from "./exit.ts";
import { addFleetCommands } from "./fleet-commands.ts";
import { addLookingCommands } from "./looking-commands.ts";
import { maskedUrls } from "./masked-url.ts";
import { addSetupCommands } from "./setup-commands.ts";
import { addStoreCommands } from "./store-commands.ts";
import { addTurnCommands } from "./turn-commands.ts";

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

let exitCode = 0;

const done = (code: number) => {
  exitCode = code;
};
addTurnCommands(program, done);
addLookingCommands(program, done);
addChangingCommands(program, done);
addFleetCommands(program, done);
addStoreCommands(program, done);

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

addSetupCommands(program, done);

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
  const text = maskedUrls(`${words}; ${how}`);
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
    process.stderr.write(`pawl: ${maskedUrls(error instanceof Error ? error.message : String(error))}\n`);
    if (exitOfError(error) === 1 && error instanceof Error) process.stderr.write(`${maskedUrls(error.stack ?? "")}\n`);
    exitCode = exitOfError(error);
  }
}
process.exitCode = exitCode;
