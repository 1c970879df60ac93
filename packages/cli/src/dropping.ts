/** `pawl compact`: the way out of a full context that needs no model. */
import { defaultCompaction, openSession, PawlError } from "@pawl/core";
import { addressOf, calledBy } from "./address.ts";
import { addressNotes, commandLine, lastModel, newInput } from "./next-command.ts";
import { grouped, wrapped } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export function compactSession(address: string, options: VisitOptions & { keep?: number }): Promise<number> {
  return visitStore(options, async (runtime) => {
    const session = await openSession(runtime, await addressOf(runtime, address));
    const { keep = defaultCompaction.keep } = options;
    const dropped = await session.dropContext({ keep });
    if (!dropped) {
      const less = keep > 0 ? "; try a smaller --keep, or 0" : "; begin a new session, or go back with pawl rewind";
      throw new PawlError(
        "INVALID_INPUT",
        `nothing old enough is in session ${session.id} to leave out and keep ${keep} of it${less}`,
      );
    }
    const { tokensBefore = 0, tokensAfter = 0 } = dropped;
    if (options.json) {
      process.stdout.write(`${JSON.stringify({ ok: true, session: session.id, ...dropped })}\n`);
      return 0;
    }
    process.stdout.write(
      `the model now sees about ${grouped(tokensAfter)} tokens of this conversation, before it was ${grouped(tokensBefore)}\n`,
    );
    const called = await calledBy(runtime, address, session.id);
    const model = lastModel(await session.entries());
    const stopped = (await session.summary())?.head.outcome !== "completed";
    const verb = stopped ? ["continue", called] : [newInput, "--session", called];
    const command = commandLine(verb, [
      ["--model", model],
      ["--store", options.store],
    ]);
    const lines = [
      wrapped(
        "The log keeps all of it: `pawl show` tells it, a fork from before has it in its context.",
        process.stderr,
      ),
      `To go on: ${command}`,
      ...addressNotes(model),
    ];
    process.stderr.write(`${lines.join("\n")}\n`);
    return 0;
  });
}
