/** The commands that are about a whole store, and about what goes from one to another. */
import type { Command } from "commander";
import { anyWay, withStore } from "./store-options.ts";
import { withWorkspace } from "./turn-options.ts";

type Done = (code: number) => void;

/** `done` hears the exit code. */
export function addStoreCommands(program: Command, done: Done): void {
  addDoctor(program, done);
  addExport(program, done);
  addImport(program, done);
  addCopy(program, done);
  addMigrate(program, done);
}

function addDoctor(program: Command, done: Done): void {
  withStore(program.command("doctor"))
    .description("say what is wrong with the store, or with one session; change nothing")
    .argument("[id]", "the session (default: the store and every session)")
    .option("--repair", "do what is said to be needed")
    .addHelpText("after", "\nExamples:\n  pawl doctor\n  pawl doctor s_01K9WBZ --repair")
    .action(async (id, options) => {
      const { runDoctor } = await import("./doctor.ts");
      done(await runDoctor(id, options));
    });
}

function addExport(program: Command, done: Done): void {
  withStore(program.command("export"))
    .description("write a session as lines of JSON, byte for byte; its tasks are sessions of their own: see copy")
    .argument("<id>", `the session: ${anyWay}`)
    .option("--out <FILE>", "into a new file (default: standard output)")
    .addHelpText("after", "\nExample:\n  pawl export s_01K9WBZ --out session.jsonl")
    .action(async (id, options) => {
      const { exportToFile } = await import("./transfer.ts");
      done(await exportToFile(id, options));
    });
}

function addImport(program: Command, done: Done): void {
  withWorkspace(withStore(program.command("import")))
    .description("take in an exported session, or a conversation that another program kept; whole or not at all")
    .argument("<file>", "what export has written, or messages: one a line, or one JSON document")
    .option("--session <ID>", "under another id; of an exported session, a copy that begins with everything of it")
    .option("--format <NAME>", "pawl, ai-sdk, openai-chat or anthropic (default: what the messages look like)")
    .option(
      "--model <PROVIDER:ID>",
      "who gave the answers: signatures are kept for this model alone (default: dropped)",
    )
    .addHelpText("after", "\nExamples:\n  pawl import session.jsonl\n  pawl import messages.json --format openai-chat")
    .action(async (file, options) => {
      const { importFromFile } = await import("./import.ts");
      done(await importFromFile(file, options));
    });
}

function addCopy(program: Command, done: Done): void {
  withStore(program.command("copy"))
    .description("copy sessions into another store, unchanged: one, or the whole store with its names and what waits")
    .argument("[id]", `the session: ${anyWay}`)
    .requiredOption("--to <DIR|URL>", "the other store: a folder, or postgres://USER@HOST/DATABASE")
    .option("--all", "every session; begun again, it goes on where it was cut short")
    .addHelpText(
      "after",
      "\nExamples:\n  pawl copy --all --to postgres://pawl@db.example/agents\n  pawl copy s_01K9WBZ --store postgres://pawl@db.example/agents --to ~/sessions",
    )
    .action(async (id, options) => {
      const { copySessions } = await import("./copy.ts");
      done(await copySessions(id, options));
    });
}

function addMigrate(program: Command, done: Done): void {
  withStore(program.command("migrate"))
    .description("make the tables of a store, or bring them up to date; says what they were and are")
    .option("--check", "change nothing, and end with 8 where there is something to do")
    .option("--grant <ROLE>", "of PostgreSQL: this role may drive sessions from then on, and change no table")
    .addHelpText(
      "after",
      "\nExamples:\n  pawl migrate --store postgres://owner@db.example/agents --grant pawl_worker\n  pawl migrate --check",
    )
    .action(async (options) => {
      const { migrateStore } = await import("./migrate.ts");
      done(await migrateStore(options));
    });
}
