/**
 * What became of a command whose runtime died, from its folder alone.
 *
 * Owns: the proof that it never started, the wait for its end. Does not own: what is told of it. Invariants:
 * 1. `not-done` is said only by whoever holds the claim for ever, or by the supervisor that held it and ran nothing.
 * 2. The wait ends: with the record, with the death of the supervisor, or when the command's own deadline must have passed.
 * 3. `unknown` is said when nothing of it runs any more, as far as the system can tell: nobody is left to end it otherwise.
 */
import { isAlive } from "@pawl/core/node";
import type { CommandFolder, ExitRecord } from "./command-folder.ts";
import { endGroup, hasMarkedMember, termGraceMs } from "./process-group.ts";

export type Fate =
  | { verdict: "not-done"; why: string }
  | { verdict: "unknown" }
  | { verdict: "done"; record: ExitRecord & { ran: true } };

const pollMs = 50;
/** Over the deadline: TERM, KILL, the last output, the flush of a large one on a slow disk. */
const marginMs = 15_000;
/** A claim is filled directly after it is made; one that stays empty was cut off by a death. */
const emptyPolls = 40;

const unclaimed = "it was never started";

/**
 * Waits at most `timeoutMs`, the command's own limit, and a margin, or until `signal` says that nobody wants to know.
 * Throws where the folder cannot be written.
 */
export async function commandFate(folder: CommandFolder, timeoutMs: number, signal?: AbortSignal): Promise<Fate> {
  if (await folder.claim({ by: "recovery" })) return { verdict: "not-done", why: unclaimed };
  const until = performance.now() + timeoutMs + marginMs;
  for (let empty = 0; ; ) {
    // Asked before the record is looked for: whoever is dead by now has written what it ever will.
    const claim = await folder.readClaim();
    const dead = typeof claim === "object" && claim.by === "supervisor" && isAlive(claim.process) === false;
    const record = await folder.readExit();
    if (record) return record.ran ? { verdict: "done", record } : { verdict: "not-done", why: record.why };
    if (claim === "unfinished") empty += 1;
    else if (claim.by === "recovery") return { verdict: "not-done", why: unclaimed };
    if (dead) {
      await endOrphan(folder, claim.mark);
      return { verdict: "unknown" };
    }
    if (signal?.aborted || empty > emptyPolls || performance.now() > until) return { verdict: "unknown" };
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function endOrphan(folder: CommandFolder, mark: string): Promise<void> {
  const pgid = await folder.readGroup();
  if (pgid !== undefined && hasMarkedMember(pgid, mark)) await endGroup(pgid, termGraceMs);
}
