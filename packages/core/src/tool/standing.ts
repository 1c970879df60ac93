/**
 * What people have answered for more than one call: a fold of `approval.resolved` records.
 *
 * Owns: which answers stand, and which calls they are for. Does not own: asking. Pure. Invariants:
 * 1. An answer of scope `session` stands in the session it was given in, one of scope `forks` also in its forks.
 * 2. A second record of an approval takes its standing answer back.
 * 3. The last answer that matches counts; one for the very same call comes before those by pattern.
 */
import type { LogEntry } from "../log/envelope.ts";
import type { ApprovalResolved } from "../log/event.ts";
import type { PermissionQuestion } from "./approval.ts";
import type { Pending } from "./pending.ts";
import { type InputPatterns, ruling } from "./permission.ts";

export interface StandingAnswer {
  approval: string;
  answer: ApprovalResolved["answer"];
  by: string;
  tool: string;
  /** Of the call that was asked about. */
  digest: string;
  /** Absent: only the very same call. */
  input?: InputPatterns;
  scope: "session" | "forks";
  /** Whose log it was given in. */
  session: string;
}

/** By approval, in the order given. */
export type StandingAnswers = Map<string, StandingAnswer>;

/** Takes a fact. `calls` are those of the open step, the answered one among them. */
export function trackStanding(standing: StandingAnswers, { event, session }: LogEntry, calls: Pending): void {
  if (event.type !== "approval.resolved") return;
  const { approval, answer, by, scope, input } = event;
  if (standing.delete(approval) || scope === "call") return;
  const asked = [...calls.values()].find((call) => call.approval?.id === approval);
  if (!asked?.approval) return;
  const { digest } = asked.approval;
  const patterns = input === undefined ? {} : { input };
  standing.set(approval, { approval, answer, by, tool: asked.part.tool, digest, ...patterns, scope, session });
}

export interface StandingPlace {
  session: string;
  cwd?: string;
}

/** Those that stand in this session. */
export function standingIn(standing: StandingAnswers, session: string): StandingAnswer[] {
  return [...standing.values()].filter((one) => one.scope === "forks" || one.session === session);
}

export function standingAnswer(
  standing: StandingAnswers,
  question: PermissionQuestion,
  digest: string,
  { session, cwd }: StandingPlace,
): "allow" | "deny" | undefined {
  const ours = standingIn(standing, session).filter((one) => one.tool === question.tool);
  const same = ours.findLast((one) => one.input === undefined && one.digest === digest);
  if (same) return same.answer;
  const rules = ours.flatMap(({ input, answer }) => (input === undefined ? [] : { input, say: answer }));
  const word = ruling(rules, question, cwd === undefined ? {} : { cwd });
  return word === "ask" ? undefined : word;
}
