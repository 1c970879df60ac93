/** Up to where a compaction reaches. */
import type { EventOf } from "./event.ts";

/** `seq`: of the compaction itself. What is recorded after it is not touched by it, whatever a foreign or broken log says. */
export function reachOf({ upTo }: Pick<EventOf<"context.compacted">, "upTo">, seq: number): number {
  return Math.min(upTo, seq - 1);
}
