/** `pawl prune` on the command line. */
import { type Command, InvalidArgumentError } from "commander";
import { withStore } from "./store-options.ts";

const unitMs: { [unit: string]: number } = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A number of hours, days or weeks, in ms. */
function age(text: string): number {
  const [, figure = "", unit = ""] = /^(\d+)([hdw])$/.exec(text) ?? [];
  const ms = Number(figure) * (unitMs[unit] ?? Number.NaN);
  if (figure !== "" && Number.isSafeInteger(ms)) return ms;
  throw new InvalidArgumentError("a number of hours, days or weeks is needed, for example 90d.");
}

/** `done` hears the exit code. */
export function addPrune(program: Command, done: (code: number) => void): void {
  withStore(program.command("prune"))
    .description("delete sessions that nothing was added to for so long; what waits, runs or has a name stays")
    .requiredOption("--older-than <AGE>", "hours, days or weeks since the last record: 36h, 90d, 12w", age)
    .option("--dry-run", "say what would go, and change nothing")
    .option("--named", "also those that have a name")
    .option("--interrupted", "also those whose last turn was cut off")
    .option("--blobs", "then remove attachments and long outputs that no session names any more; reads every log")
    .option("--yes", "without asking")
    .addHelpText(
      "after",
      "\nExamples:\n  pawl prune --older-than 90d --dry-run\n  pawl prune --older-than 90d --blobs --yes",
    )
    .action(async (options) => {
      const { pruneSessions } = await import("./pruning.ts");
      done(await pruneSessions(options));
    });
}
