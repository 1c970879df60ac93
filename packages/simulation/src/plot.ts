/** A schedule that is told instead of drawn: for small spaces that are tried out whole. */
import type { Answer } from "./model.ts";
import type { People } from "./people.ts";

export interface Plot {
  /** What the model answers, request by request; calmly after that. */
  answers: Answer[];
  /** How long bodies take, in the order in which they are entered, ms. */
  bodiesMs: number[];
  /** Called after each event of the wild phase, with its number from 1. */
  happened(event: number, town: People): void;
}
