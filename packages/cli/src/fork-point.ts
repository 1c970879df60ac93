/** `SESSION[:TURN]` as a place in a log. */
import { openSession, PawlError, type Runtime } from "@pawl/core";

/** The end of a turn (its id, or its number from 1), or of the whole session. Throws INVALID_INPUT. */
export async function forkPoint(runtime: Runtime, text: string): Promise<{ session: string; seq: number }> {
  const [id = "", turn] = text.split(":", 2);
  const session = await openSession(runtime, id);
  const entries = await session.entries();
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
