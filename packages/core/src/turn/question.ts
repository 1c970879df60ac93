/** The questions that wait for a person, and the answers that stand: a fold of the open step's facts, the same tracker that the driver uses. */
import { decodeAll } from "../log/codec.ts";
import type { LogEntry, LogRecord } from "../log/envelope.ts";
import type { Fold } from "../log/fold.ts";
import type { Store } from "../store/store.ts";
import { type Pending, type PendingCall, pendingOf, track, unsettled } from "../tool/pending.ts";
import { type StandingAnswer, type StandingAnswers, standingIn, trackStanding } from "../tool/standing.ts";
import type { PendingApproval } from "../view/live.ts";

/** The calls of the open step. What a parent asked is void in its fork, and not listed. */
export function questionFold(session: string): Fold<Pending> {
  return {
    init: () => new Map(),
    step(calls, entry) {
      switch (entry.event.type) {
        case "message.committed":
          return entry.session === session ? pendingOf(entry.event.parts) : new Map();
        case "step.ended":
        case "turn.ended":
          return new Map();
        default:
          track(calls, entry);
          return calls;
      }
    },
  };
}

/** Undefined: nobody is asked about this call. */
export function pendingApproval({ part, approval, output }: PendingCall): PendingApproval | undefined {
  if (!approval || approval.resolved || output) return undefined;
  const { id, digest, at, expiresAt } = approval;
  return {
    approval: id,
    call: part.id,
    tool: part.tool,
    input: part.input,
    digest,
    askedAt: at,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Records of one look backwards: a step with its calls and questions fits. */
const lookBack = 100;

/** What waits in a session, in call order. Reads the log from its end, back to the last message. */
export async function pendingApprovals(store: Store, session: string): Promise<PendingApproval[]> {
  const tail: LogRecord[][] = [];
  for (let before: number | undefined; ; ) {
    const page = await store.readTail(session, { limit: lookBack, ...(before === undefined ? {} : { before }) });
    tail.unshift(page);
    before = page[0]?.seq;
    if (page.length < lookBack || page.some(({ type }) => type === "message.committed")) break;
  }
  const records = tail.flat();
  const fold = questionFold(session);
  const calls = decodeAll(records, (records[0]?.seq ?? 1) - 1).reduce(fold.step, fold.init());
  return unsettled(calls).flatMap((call) => pendingApproval(call) ?? []);
}

/** What people have answered for later calls of this session, too. Reads the whole log. */
export function standingAnswers(entries: Iterable<LogEntry>, session: string): StandingAnswer[] {
  const standing: StandingAnswers = new Map();
  let calls: Pending = new Map();
  for (const entry of entries) {
    trackStanding(standing, entry, calls);
    if (entry.event.type === "message.committed") calls = pendingOf(entry.event.parts);
    else track(calls, entry);
  }
  return standingIn(standing, session);
}
