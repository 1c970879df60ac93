/** `pawl fork` and `pawl rewind`: another way on from an earlier place. The log that is left is never written to. */
import { forkSession, PawlError, type Runtime, rewindSession, type SessionFacts } from "@pawl/core";
import { forkPoint, type Place } from "./fork-point.ts";
import { addressNotes, commandLine, lastModel, newInput } from "./next-command.ts";
import { toned, wrapped } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export type BranchOptions = VisitOptions & {
  /** The id of the new session. */
  session?: string;
  /** Of a fork; default: its parent's. */
  workspace?: string;
};

/** A copy up to a place; prints its id. */
export function forkAt(text: string, options: BranchOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const place = await forkPoint(runtime, text);
    const child = await forkSession(runtime, place, options.session, await factsOf(runtime, place, options));
    const words = [`a fork of ${place.session}, ${where(place)}`];
    tell(options, { session: child.id, address: child.id, place, words });
    return 0;
  });
}

/** Goes back: the old log is fenced and kept, the name that it was called by goes on to the new one. */
export function rewindTo(text: string, options: BranchOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const place = await forkPoint(runtime, text, "undo");
    const { session, address, seq, entries } = place;
    if (seq >= (entries.at(-1)?.seq ?? 0)) {
      const what = `session ${session} ends there already (turn ${place.turn}); name an earlier turn, or copy it with pawl fork`;
      throw new PawlError("INVALID_INPUT", `${text}: ${what}`);
    }
    const names = (await runtime.store.get(session))?.names ?? [];
    // Called by its id, it has one name or it is not clear which.
    const name = names.includes(address) ? address : names.length === 1 ? names[0] : undefined;
    const child = await rewindSession(runtime, place, {
      ...(options.session === undefined ? {} : { id: options.session }),
      ...(name === undefined ? {} : { name }),
      facts: await factsOf(runtime, place),
    });
    const words = [`gone back: ${where(place)}; the log until now is kept as ${session}`];
    if (name !== undefined) words.push(`${name} is session ${child.id} now`);
    const called = name === undefined ? {} : { name };
    tell(options, { session: child.id, address: name ?? child.id, place, words, ...called });
    return 0;
  });
}

async function factsOf(
  { store }: Runtime,
  { session }: Place,
  { workspace }: BranchOptions = {},
): Promise<SessionFacts> {
  const { title, cwd } = (await store.get(session))?.head ?? {};
  return {
    ...(title === undefined ? {} : { title }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(workspace === undefined ? {} : { workspace }),
  };
}

function where({ turn, seq }: Place): string {
  return turn === 0 ? `as before its first turn (record ${seq})` : `as at the end of turn ${turn} (record ${seq})`;
}

interface Branched {
  session: string;
  /** As it is best called from now on. */
  address: string;
  place: Place;
  words: string[];
  name?: string;
}

/** The id alone on standard output: `ID=$(pawl fork …)`. */
function tell(options: BranchOptions, { session, address, place, words, name }: Branched): void {
  const { stdout, stderr } = process;
  if (options.json) {
    const from = { session: place.session, seq: place.seq, turn: place.turn };
    stdout.write(`${JSON.stringify({ ok: true, session, ...(name === undefined ? {} : { name }), from })}\n`);
    return;
  }
  stdout.write(`${session}\n`);
  const model = lastModel(place.entries);
  const command = commandLine(
    [newInput],
    [
      ["--session", address],
      ["--model", model],
      ["--store", options.store],
    ],
  );
  const lines = [...words.map((each) => wrapped(each, stderr)), `To go on: ${command}`, ...addressNotes(model)];
  stderr.write(`${toned("quiet", lines.join("\n"), stderr)}\n`);
}
