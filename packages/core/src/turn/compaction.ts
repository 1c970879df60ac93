/**
 * When a conversation is made shorter, and how: policy and plan. Pure.
 *
 * Old results of tools are cut first: that costs no request. Where it is not enough, the model sums up everything up to a
 * settled boundary, asked with the very messages it has been sent before, so that their cached prefix serves once more.
 */
import { failureOf } from "../attempt/failure.ts";
import { type Boundary, chooseCut } from "../context/compaction.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { seen } from "../log/shape.ts";
import type { Failure } from "../log/value.ts";

/** Changes to it are data, like those to the recovery policy. */
export interface CompactionPolicy {
  /** `off`: never, on no path; a request that does not fit ends its turn as *overflow*. */
  mode: "auto" | "off";
  /** The share of the agent's `windowTokens` from which on a step begins with a compaction. */
  at: number;
  /** The share of the conversation that stays as it is: its newest part. */
  keep: number;
  /** What is left of each old result where results are cut, characters. */
  resultChars: number;
  /** The share by which a compaction shrinks the conversation at least; one that does less is a failure. */
  shrink: number;
}

export const defaultCompaction: CompactionPolicy = {
  mode: "auto",
  // Room for a long answer and a few results in a window of 128,000.
  at: 0.8,
  keep: 0.3,
  resultChars: 2_000,
  shrink: 0.25,
};

/** The policy with a user's changes. Throws INVALID_INPUT for a figure that would never come to an end. */
export function compactionOf(changes: Partial<CompactionPolicy> = {}): CompactionPolicy {
  const policy = { ...defaultCompaction, ...changes };
  if (policy.mode !== "auto" && policy.mode !== "off")
    throw new PawlError("INVALID_INPUT", `compaction.mode is ${seen(policy.mode)}; use "auto" or "off"`);
  for (const name of ["at", "keep", "shrink"] as const) {
    const value = policy[name];
    if (!(value > 0 && value < 1))
      throw new PawlError("INVALID_INPUT", `compaction.${name} is ${value}; use a share between 0 and 1`);
  }
  if (!(policy.resultChars >= 0 && policy.resultChars <= limit.messageChars))
    throw new PawlError(
      "INVALID_INPUT",
      `compaction.resultChars is ${policy.resultChars}; use 0 to ${limit.messageChars}`,
    );
  return policy;
}

export type Plan = { by: "prune" | "summary"; upTo: number; prune: boolean };

/** The conversation as it stands. */
export interface Measured {
  /** Of the next request: the larger of what was reported and our own estimate. */
  tokens: number;
  /** Our own estimate, instructions and tools included: what shares are taken of, whatever a provider counts. */
  size: number;
  boundaries: readonly Boundary[];
  /** What cutting results up to a boundary would save, estimated. */
  prunable(upTo: number): number;
}

/**
 * `failures`: compactions that failed before. The next one asks for less at once, in a request that is itself shorter.
 * Undefined: nothing old is there.
 */
export function planCompaction(measured: Measured, policy: CompactionPolicy, failures: number): Plan | undefined {
  const { size, boundaries, prunable } = measured;
  const kept = failures === 0 ? policy.keep : (1 + policy.keep) / 2;
  const upTo = chooseCut(boundaries, (boundaries.at(-1)?.tokens ?? 0) * kept);
  const replaced = boundaries.findLast(({ seq }) => upTo !== undefined && seq <= upTo)?.tokens ?? 0;
  // Beside large instructions not even an empty summary would help enough: it is not worth a reading of all of it.
  if (upTo === undefined || replaced < size * policy.shrink) return undefined;
  if (prunable(upTo) >= size * policy.shrink) return { by: "prune", upTo, prune: true };
  return { by: "summary", upTo, prune: failures > 0 };
}

/** Whether the next request leaves the room that the policy asks for. Without a known window, always. */
export function roomFor(
  tokens: number,
  { windowTokens, compaction }: { windowTokens: number | undefined; compaction: CompactionPolicy },
): "enough" | "crowded" {
  if (windowTokens === undefined || compaction.mode === "off") return "enough";
  return tokens >= windowTokens * compaction.at ? "crowded" : "enough";
}

/** What no compaction could mend: instructions and tools that leave no room for a conversation. */
export function hopelessness({
  windowTokens = Number.POSITIVE_INFINITY,
  overheadTokens,
  compaction,
}: {
  windowTokens: number | undefined;
  overheadTokens: number;
  compaction: CompactionPolicy;
}): Failure | undefined {
  // Our own estimate must not end what was told to be left to the provider.
  if (overheadTokens < windowTokens || compaction.mode === "off") return undefined;
  const message = `the instructions and tools alone take about ${overheadTokens} tokens of a window of ${windowTokens}: give fewer tools, shorter instructions, or a model with a larger window`;
  return { ...failureOf("overflow", message, "runtime"), code: "OVERHEAD" };
}

export const summaryRequest = [
  "The conversation has become too long to go on with. Write a summary that replaces everything above: you will read it",
  "instead, and nothing else of it. Keep, in this order and briefly: what the user asked for, word for word where wording",
  "matters; decisions and their reasons; what was done, with names of files, commands and their results; what is known and",
  "what failed; what remains to be done next. Answer with the summary alone and call no tool.",
].join("\n");
