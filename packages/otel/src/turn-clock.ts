/**
 * Where in time the facts of one turn lie. Wall clocks are set while turns run: one that falls back must not give spans that
 * end before they begin, or lie before what came first.
 */
export interface TurnClock {
  /** UTC ms. Never falls. */
  now: number;
  /** What is added to the recorded times since the clock fell back. */
  offset: number;
}

/** Less is rounding: durations have fractions of a millisecond, recorded times have none. */
const jumpMs = 1_000;

/** The moment of a fact recorded at `time`, which is not before `atLeast`: a start and a measured duration. */
export function tick(clock: TurnClock, time: number, atLeast = clock.now): number {
  const floor = Math.max(clock.now, atLeast);
  const behind = floor - (time + clock.offset);
  if (behind > jumpMs) clock.offset += behind;
  clock.now = Math.max(floor, time + clock.offset);
  return clock.now;
}
