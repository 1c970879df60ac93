/** The commands that drive a turn, or end one. */
import type { Command } from "commander";
import { anyWay, withStore } from "./store-options.ts";
import { withModel, withSummary, withWorkspace } from "./turn-options.ts";

type Done = (code: number) => void;

/** `done` hears the exit code. */
export function addTurnCommands(program: Command, done: Done): void {
  addRun(program, done);
  addResume(program, done);
  addContinue(program, done);
  addSettle(program, done);
  addChat(program, done);
}

function addRun(program: Command, done: Done): void {
  withSummary(withWorkspace(withModel(program.command("run"))))
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
      done(await runPrompt(prompt, options));
    });
}

function addResume(program: Command, done: Done): void {
  withSummary(withModel(program.command("resume")))
    .description("go on inside a turn whose process died")
    .argument("<id>", `the session: ${anyWay}`)
    .addHelpText("after", "\nExample:\n  pawl resume s_01K9WBZ --model openai:gpt-5")
    .action(async (id, options) => {
      const { resumeSession } = await import("./run.ts");
      done(await resumeSession(id, options));
    });
}

function addContinue(program: Command, done: Done): void {
  withSummary(withModel(program.command("continue")))
    .description("follow a turn that failed, was rate-limited or was stopped, without a new input")
    .argument("<id>", `the session: ${anyWay}`)
    .addHelpText("after", "\nExample:\n  pawl continue s_01K9WBZ --model anthropic:claude-sonnet-4-5")
    .action(async (id, options) => {
      const { continueSession } = await import("./run.ts");
      done(await continueSession(id, options));
    });
}

function addSettle(program: Command, done: Done): void {
  withStore(program.command("settle"))
    .description("close a turn whose process died, and run nothing: every call gets its result")
    .argument("<id>", `the session: ${anyWay}`)
    .addHelpText("after", "\nExample:\n  pawl settle s_01K9WBZ")
    .action(async (id, options) => {
      const { settleSession } = await import("./settling.ts");
      done(await settleSession(id, options));
    });
}

function addChat(program: Command, done: Done): void {
  withWorkspace(withModel(program.command("chat")))
    .description("an interactive session in this folder: the latest one, or another; `pawl` alone is the same")
    .argument("[id]", `the session: ${anyWay}`)
    .option("--plain", "line by line, nothing is drawn again: for screen readers, dumb terminals and pipes")
    .addHelpText(
      "after",
      "\nExamples:\n  pawl --model openai:gpt-5\n  pawl chat release\n  pawl chat --plain < questions.txt",
    )
    .action(async (id, options) => {
      const { runChat } = await import("./chat/main.ts");
      done(await runChat(id, options));
    });
}
