/** `SESSION[:TURN]` as a place in a log. */
import { PawlError, type Runtime } from "@pawl/core";
import { readable } from "./readable.ts";

/**
 * The end of a turn (its id, or its number from 1), or of the whole session. Of a damaged session, the turns before the
 * damage. Throws INVALID_INPUT.
 */
export async function forkPoint(runtime: Runtime, text: string): Promise<{ session: string; seq: number }> {
  const [id = "", turn] = text.split(":", 2);
  const { entries, damage } = await readable(runtime, id);
  if (turn === undefined && damage) throw damage;
  if (turn === undefined) return { session: id, seq: entries.at(-1)?.seq ?? 0 };
  const ends = entries.filter((entry) => entry.event.type === "turn.ended");
  const found = ends.find(
    ({ event }, index) => event.type === "turn.ended" && (event.turn === turn || String(index + 1) === turn),
  );
  if (!found) {
    throw new PawlError(
      "INVALID_INPUT",
      `--fork-from ${text}: session ${id} has ${ends.length} ended turns; name one by its number or id`,
    );
  }
  return { session: id, seq: found.seq };
}
