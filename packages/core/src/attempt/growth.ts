/**
 * The part that grows now, and its pieces. Text that is appended piece by piece is a rope of one node a piece: 20 MB a
 * megabyte of text, and twice the time; pieces that are joined by the block cost neither.
 */
import type { CallPart, MessagePart } from "../log/event.ts";

export type GrowingPart = Extract<MessagePart, { type: "text" | "reasoning" }> | CallPart;

/** Enough that joining is rare, few enough that the pieces stay in the young generation. */
const piecesPerBlock = 1_024;

export class Growth {
  #part: GrowingPart | undefined;
  #pieces: string[] = [];

  add(part: GrowingPart, piece: string): void {
    if (part !== this.#part) this.join();
    this.#part = part;
    if (this.#pieces.push(piece) === piecesPerBlock) this.join();
  }

  /** Until then the part lacks its last pieces: to be called before anything reads it. */
  join(): void {
    const part = this.#part;
    if (part?.type === "tool-call") part.input += this.#pieces.join("");
    else if (part) part.text += this.#pieces.join("");
    this.#part = undefined;
    this.#pieces = [];
  }
}
