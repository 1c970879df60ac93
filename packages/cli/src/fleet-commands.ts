/** The commands by which one process hands over work and another does it. */
import { type Command, InvalidArgumentError } from "commander";
import { several, wholeNumber } from "./argument.ts";
import { anyWay, withStore } from "./store-options.ts";
import { withDriving, withWorkspace } from "./turn-options.ts";

type Done = (code: number) => void;

/** `done` hears the exit code. */
export function addFleetCommands(program: Command, done: Done): void {
  addPost(program, done);
  addAnswer(program, done);
  addWorker(program);
}

function addPost(program: Command, done: Done): void {
  withWorkspace(withStore(program.command("post")))
    .description(
      "hand over what is to be done, and leave it to a worker or to whoever drives the session; prints its id",
    )
    .argument("<prompt>", "what is to be done")
    .option("--session <ID>", "create this session, or go on with it (its id, or its name)")
    .option("--fork-from <SESSION[:TURN]>", "begin with everything of another session, up to the end of a turn")
    .option("--steer", "into the turn that is open, before its next request, instead of after it")
    .option(
      "--cwd <DIR>",
      "of a new session, the folder to work in, as the worker's machine calls it (default: this one)",
    )
    .addHelpText(
      "after",
      '\nExamples:\n  pawl follow "$(pawl post "fix the failing test")"\n  pawl post "and the docs" --session release',
    )
    .action(async (prompt, options) => {
      const { postPrompt } = await import("./post.ts");
      done(await postPrompt(prompt, options));
    });
}

function addAnswer(program: Command, done: Done): void {
  withStore(program.command("answer"))
    .description("what a session asks, and the answer to it, from any terminal and whoever drives")
    .argument("<id>", `the session: ${anyWay}`)
    .argument("[answer]", "yes, no, or always (the pattern that is shown); without one, the questions")
    .option("--question <N>", "which, where several wait, as they are numbered", wholeNumber)
    .option("--reason <TEXT>", "with a no: what the model is told")
    .addHelpText(
      "after",
      '\nExamples:\n  pawl answer s_01K9WBZ\n  pawl answer s_01K9WBZ yes\n  pawl answer s_01K9WBZ no --reason "not on this branch"',
    )
    .action(async (id, answer, options) => {
      const { answerQuestion } = await import("./answer.ts");
      done(await answerQuestion(id, answer, options));
    });
}

function atLeastOne(text: string): number {
  const number = wholeNumber(text);
  if (number > 0) return number;
  throw new InvalidArgumentError("a whole number of 1 or more is needed.");
}

function addWorker(program: Command): void {
  withDriving(program.command("worker"))
    .description("drive whatever waits in a store, in each session's own folder, until SIGTERM")
    .option("--concurrency <N>", "sessions at once", atLeastOne, 4)
    .option(
      "--workspace <NAME>",
      "the files that sessions need which were made with this name are here; several times for several",
      several,
    )
    .option("--grace <SECONDS>", "after a signal, how long what is in the middle of a step may go on", wholeNumber, 25)
    .option("--health <[HOST:]PORT>", "/livez and /readyz over HTTP (default host: 127.0.0.1)")
    .option("--telemetry <FILE>", "a module of yours that hears what happens, for example with @pawl/otel")
    .option("--json", "one event per line on standard output")
    .addHelpText(
      "after",
      `
A question waits in the log until somebody answers it (pawl answer). After a signal it takes nothing more, hands over between two
steps and ends with 0; with 11 where something was cut off, which the next worker takes over. A second signal leaves at once.

Examples:
  pawl worker --mode accept-edits
  pawl worker --workspace disk-7 --workspace builds
  pawl worker --store postgres://pawl@db.example/agents --concurrency 8 --health 8080`,
    )
    .action(async (options) => {
      const { runWorker } = await import("./worker/main.ts");
      // What was left behind keeps the process alive: it is over.
      process.exit(await runWorker(options));
    });
}
