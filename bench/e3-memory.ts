/**
 * E3: what a session under way takes in memory.
 *
 * Measured: the highest resident memory over idle while the 1,000 sessions of E1 run at once, shared among them; the
 * garbage that one turn makes is a part of it, as it is of a server. Idle is the same process with the store open and a
 * hundred such turns behind it. Against: the bare drain, for comparison; the limits are kilobytes. Not measured: what a
 * session keeps that is open and idle, which is a name.
 */
import { bareCrowd, type Live, ourCrowd, together } from "./crowd.ts";
import { MemoryGauge } from "./gauge.ts";
import type { Figures, Row } from "./row.ts";

const sessions = 1_000;
const warmUp = 100;
/** Asking the kernel costs; so many looks see every step of a heap that grows by megabytes. */
const deltasPerLook = 500;

export const row: Row = {
  ...{ name: "E3", measure: "memory of one of 1,000 sessions at once", unit: "KB", scoreUnit: " KB", better: "lower" },
  ...{ target: 150, stretch: 90 },
  baseline: () => bareCrowd(watched),
  ours: (dir) => ourCrowd(dir, watched),
  score: (_, ours) => ours.value,
};

async function watched(live: Live): Promise<Figures> {
  await together(live, warmUp);
  const memory = new MemoryGauge();
  let heard = 0;
  await together(live, sessions, () => {
    heard += 1;
    if (heard % deltasPerLook === 0) memory.look();
  });
  return { value: (memory.peak() * 1_000) / sessions };
}
