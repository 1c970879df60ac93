/** The commands that make another session of one, change what it is called, or take away. */
import type { Command } from "commander";
import { share, wholeNumber } from "./argument.ts";
import { anyWay, withStore } from "./store-options.ts";
import { withWorkspace } from "./turn-options.ts";

type Done = (code: number) => void;

/** `done` hears the exit code. */
export function addChangingCommands(program: Command, done: Done): void {
  addFork(program, done);
  addRewind(program, done);
  addUndo(program, done);
  addRedo(program, done);
  addName(program, done);
  addCompact(program, done);
  addDelete(program, done);
  addErase(program, done);
}

function addFork(program: Command, done: Done): void {
  withWorkspace(withStore(program.command("fork")))
    .description("copy a session up to the end of a turn; prints the new id")
    .argument("<id[:turn]>", "the session, and a turn's number from 1 or its id (default: all of it)")
    .option("--session <ID>", "the new session's id")
    .addHelpText("after", "\nExamples:\n  pawl fork s_01K9WBZ\n  NEW=$(pawl fork release:2)")
    .action(async (place, options) => {
      const { forkAt } = await import("./branch.ts");
      done(await forkAt(place, options));
    });
}

function addRewind(program: Command, done: Done): void {
  withStore(program.command("rewind"))
    .description("go back to the end of a turn; the log until now is kept, and a name moves")
    .argument("<id[:turn]>", "the session, and a turn's number (default: the last turn is taken back; 0: all of them)")
    .option("--session <ID>", "the new session's id")
    .addHelpText("after", "\nExamples:\n  pawl rewind release\n  pawl rewind release:2")
    .action(async (place, options) => {
      const { rewindTo } = await import("./branch.ts");
      done(await rewindTo(place, options));
    });
}

function addUndo(program: Command, done: Done): void {
  withStore(program.command("undo"))
    .description(
      "files and conversation go back to before a turn or a step, after showing what changes; the log is kept",
    )
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
      done(await undo(id, step, options));
    });
}

function addRedo(program: Command, done: Done): void {
  withStore(program.command("redo"))
    .description("takes back an undo: files and conversation come back as they were when it was done")
    .argument("[id]", `the session that the undo led to: ${anyWay} (default: the latest of this folder)`)
    .option("--yes", "without asking")
    .addHelpText("after", "\nExample:\n  pawl undo && pawl redo")
    .action(async (id, options) => {
      const { redo } = await import("./undo.ts");
      done(await redo(id, options));
    });
}

function addName(program: Command, done: Done): void {
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
      done(await nameSession(id, name, options));
    });
}

function addCompact(program: Command, done: Done): void {
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
      done(await compactSession(id, options));
    });
}

function addDelete(program: Command, done: Done): void {
  withStore(program.command("delete"))
    .description("delete a session, after asking; forks keep what they begin with")
    .argument("<id>", `the session: ${anyWay}`)
    .option("--yes", "without asking")
    .addHelpText("after", "\nExample:\n  pawl delete s_01K9WBZ --yes")
    .action(async (id, options) => {
      const { deleteSession } = await import("./deletion.ts");
      done(await deleteSession(id, options));
    });
}

function addErase(program: Command, done: Done): void {
  withStore(program.command("erase"))
    .description("erase the content of one record, after showing it; its place, ids and hash stay")
    .argument("<id>", `the session: ${anyWay}`)
    .argument("<seq>", "the record's number, as `pawl show` tells it", wholeNumber)
    .option("--yes", "without asking")
    .addHelpText("after", "\nExample:\n  pawl erase s_01K9WBZ 12")
    .action(async (id, seq, options) => {
      const { eraseRecord } = await import("./erasing.ts");
      done(await eraseRecord(id, seq, options));
    });
}
