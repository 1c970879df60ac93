/**
 * What a compaction needs to know of a context: how large it is, where it may be cut, what a cut would leave.
 *
 * Owns: sizes and boundaries. Does not own: when to compact, and by what. Pure; nothing here changes the state.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { messageChars, tokensOf } from "../log/size.ts";
import { answersOf, promptStart, pruned } from "./projection.ts";
import { type ContextState, charsOf } from "./state.ts";

/** Where the conversation may be cut: no call is open there, and nothing behind it belongs to what is before it. */
export interface Boundary {
  /** The last entry that shaped what is before the cut: the `upTo` of a compaction. */
  seq: number;
  /** Of everything before it, what replaces an older part included; estimated. */
  tokens: number;
  /** An input follows. */
  beforeInput: boolean;
}

/** Estimated tokens of all messages, the open one with its results so far included. */
export function sizeOf(state: ContextState): number {
  const { open } = state;
  const answers = open ? answersOf(state, open) : [];
  return tokensOf(answers.reduce((sum, message) => sum + messageChars(message), charsOf(state)));
}

/** Ascending. What an earlier compaction has replaced is behind all of them. */
export function boundaries({ marks }: ContextState): Boundary[] {
  return marks.flatMap(({ seq, chars, settled }, at) =>
    settled ? [{ seq, tokens: tokensOf(chars), beforeInput: marks[at + 1]?.input ?? false }] : [],
  );
}

/** The prompt of what stands before the boundary at `seq`, or before the last one that is not behind it. */
export function promptUpTo(
  { marks, messages }: ContextState,
  instructions: string | undefined,
  seq: number,
): LanguageModelV4Prompt {
  const prompt = promptStart(instructions);
  const last = marks.findLastIndex((mark) => mark.settled && mark.seq <= seq);
  for (let at = 0; at <= last; at += 1) {
    const message = messages[at];
    if (message) prompt.push(message);
  }
  return prompt;
}

/** Tokens that cutting the results settled up to `upTo` to so many characters would save. */
export function prunable(state: ContextState, upTo: number, resultChars: number): number {
  return sizeOf(state) - sizeOf(pruned(state, upTo, resultChars));
}

/** Of what a cut could replace, this share may stay for the sake of a whole turn. */
const roundingShare = 0.2;

/**
 * The last boundary that leaves at least `keepTokens` behind it; but the last one before an input, where that leaves
 * at most a fifth of what could be replaced: a kept part that begins with its question is easier to go on from.
 * Undefined where no boundary leaves as much.
 */
export function chooseCut(found: readonly Boundary[], keepTokens: number): number | undefined {
  const most = (found.at(-1)?.tokens ?? 0) - keepTokens;
  const last = found.findLastIndex(({ tokens }) => tokens <= most);
  const least = (found[last]?.tokens ?? 0) * (1 - roundingShare);
  for (let at = last; at >= 0; at -= 1) {
    const boundary = found[at];
    if (!boundary || boundary.tokens < least) break;
    if (boundary.beforeInput) return boundary.seq;
  }
  return found[last]?.seq;
}
