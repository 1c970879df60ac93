/** The commands that look at sessions and change none. */
import type { Command } from "commander";
import { Option } from "commander";
import { wholeNumber } from "./argument.ts";
import { anyWay, withStore } from "./store-options.ts";

type Done = (code: number) => void;

/** `done` hears the exit code. */
export function addLookingCommands(program: Command, done: Done): void {
  addSessions(program, done);
  addShow(program, done);
  addFollow(program, done);
  addVerify(program, done);
  addDiff(program, done);
}

function addSessions(program: Command, done: Done): void {
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
      done(await listSessions(options));
    });
}

function addShow(program: Command, done: Done): void {
  withStore(program.command("show"))
    .description("the log of a session as a timeline, and how to go on")
    .argument("<id>", `the session: ${anyWay}`)
    .addHelpText("after", "\nExample:\n  pawl show s_01K9WBZ")
    .action(async (id, options) => {
      const { showSession } = await import("./inspect.ts");
      done(await showSession(id, options));
    });
}

function addFollow(program: Command, done: Done): void {
  withStore(program.command("follow"))
    .description("watch a session that another process drives, live, until its turn ends; touches nothing")
    .argument("<id>", `the session: ${anyWay}`)
    .option("--after <SEQ>", "begin behind this record (default: with the open turn; 0: from the start)", wholeNumber)
    .option("--forever", "go on with later turns, until Ctrl-C")
    .addHelpText("after", "\nExample:\n  pawl follow s_01K9WBZ")
    .action(async (id, options) => {
      const { followSession } = await import("./follow.ts");
      done(await followSession(id, options));
    });
}

function addVerify(program: Command, done: Done): void {
  withStore(program.command("verify"))
    .description("check the laws on a session's log")
    .argument("<id>", `the session: ${anyWay}`)
    .addHelpText("after", "\nExample:\n  pawl verify s_01K9WBZ --json")
    .action(async (id, options) => {
      const { verifySession } = await import("./inspect.ts");
      done(await verifySession(id, options));
    });
}

function addDiff(program: Command, done: Done): void {
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
      done(await showDiff(id, step, options));
    });
}
