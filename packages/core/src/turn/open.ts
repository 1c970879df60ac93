/**
 * Taking the lease and putting a driver together: settle or take over, then drive, then give the lease back.
 */
import { PawlError } from "../error.ts";
import type { Json, Part } from "../log/event.ts";
import type { Feed } from "../view/feed.ts";
import { TurnAbort } from "./abort.ts";
import type { PreparedAgent } from "./agent.ts";
import { closeTurn } from "./close.ts";
import { LiveContext } from "./context.ts";
import { type Driver, drive } from "./drive.ts";
import { Inbox } from "./inbox.ts";
import { readJournal } from "./journal.ts";
import { DriverLease } from "./lease.ts";
import { Ledger } from "./ledger.ts";
import { Report, type TurnResult } from "./report.ts";
import type { Runtime } from "./session.ts";

export type DriveMode = { kind: "settle"; input: Part[] } | { kind: "take-over" };

export async function startDrive(
  runtime: Runtime,
  session: string,
  agent: PreparedAgent,
  mode: DriveMode,
  feed: Feed,
  signal: AbortSignal,
): Promise<TurnResult> {
  const { store, effects, holder } = runtime;
  signal.throwIfAborted();
  // The lease before the post: an input that we cannot drive is refused, not left behind.
  const lease = await DriverLease.acquire(store, session, holder, effects);
  const abort = new TurnAbort(AbortSignal.any([signal, lease.lost]));
  const input = effects.id("in");
  /** Of a take-over: the turn that is open. While the log is read for the first time, any turn may be it. */
  let taken: string | undefined;
  const report = new Report(session, ({ turn, inputs }) =>
    mode.kind === "take-over" ? taken === undefined || turn === taken : inputs.includes(input),
  );
  const context = new LiveContext({ provider: agent.header.model.provider, model: agent.header.model.id });
  const ledger = new Ledger(store, session, lease.epoch, effects, feed, [context, report]);
  const inbox = new Inbox(store, session, (turn) => {
    if (ledger.state.turn?.id === turn) abort.abort(new DOMException("the turn was stopped", "AbortError"));
  });
  const driver: Driver = { session, store, effects, agent, lease, ledger, context, inbox, feed, abort };
  try {
    await ledger.load();
    if (mode.kind === "settle") {
      await settleInterrupted(driver);
      await store.post(session, { id: input, kind: "input", body: { content: mode.input as unknown as Json } });
    } else if (!ledger.state.turn) {
      throw new PawlError(
        "INVALID_INPUT",
        `session ${session} has no interrupted turn to resume; give it an input with \`pawl run --session ${session}\``,
      );
    }
    taken = ledger.state.turn?.id;
    await inbox.open();
    await drive(driver);
  } finally {
    inbox.close();
    await lease.release().catch(() => {});
  }
  if (!report.result) signal.throwIfAborted();
  if (!report.result) throw new PawlError("BUG", `session ${session}: the driver ended without an end of its turn`);
  return report.result;
}

/** Closes what a dead driver, or the parent of a fork, left open. Staged: it shares the first batch of what follows. */
async function settleInterrupted({ ledger, store, session }: Driver): Promise<void> {
  const open = ledger.state.turn;
  if (!open) return;
  const partial = await store.readPartial(session);
  const attempt = open.step?.attempt?.attempt;
  const proven = partial && partial.attempt === attempt ? readJournal(partial.chunks) : undefined;
  if (attempt !== undefined) ledger.dropPartial(attempt);
  for (const event of closeTurn(ledger.state, {
    outcome: { type: "interrupted" },
    ...(proven ? { fragment: proven } : {}),
  })) {
    ledger.stage(event);
  }
}
