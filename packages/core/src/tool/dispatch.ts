/**
 * Runs the calls of one committed message.
 *
 * Owns: order, overlap, approval, entry, drain. Does not own: the log (its host appends), what missing results are
 * called (settle). Invariants:
 * 1. A body is entered only after its `tool.entered` is durable, by the driver that appended it, once (L4).
 * 2. Conflicting calls run in call order; all else overlaps, within the bound. No failure cancels a sibling.
 * 3. Each result is staged as it comes. When recording or scheduling fails, nothing more is admitted, started bodies
 *    are drained, and only then the fault goes on.
 */
import type { Effects } from "../effects.ts";
import { assert } from "../error.ts";
import type { Json, LogEvent, ToolOutput, ToolSettled } from "../log/event.ts";
import { type Approval, ask, denied, judge, type Verdict } from "./approval.ts";
import { runBody } from "./body.ts";
import type { KeepBytes } from "./output.ts";
import { callDigest, type PendingCall } from "./pending.ts";
import { type CallProgress, startable } from "./plan.ts";
import { checkCall, type PreparedTools, type RunnableCall } from "./prepare.ts";
import { missingOutput } from "./settle.ts";
import type { Lock } from "./tool.ts";

/** What the driver gives a dispatcher: a way into the log, and ears. */
export interface DispatchHost {
  /** Adds an event to the next batch. */
  stage(event: LogEvent): void;
  /** Makes everything staged durable. */
  commit(): Promise<void>;
  /** Throws when our lease is no longer valid by our own monotonic clock. */
  assertLease(): void;
  progress(call: string, data: Json): void;
  keep: KeepBytes;
  /** A body ended after its call was settled without it. May come long after the dispatch is over. */
  late(call: string, output: ToolOutput): void;
}

export interface DispatchOptions extends Approval {
  tools: PreparedTools;
  signal: AbortSignal;
  concurrency: number;
  graceMs: number;
  effects: Effects;
}

/** A call and how far it is. */
interface Slot {
  call: PendingCall;
  progress: CallProgress;
  locks: readonly Lock[];
  /** Undefined where the call can never run: it is settled from the start. */
  checked: RunnableCall | undefined;
  verdict: Verdict;
  /** Entered before this dispatch, by a driver that died. `call` itself changes as our own facts are staged. */
  rerun: boolean;
  /** Whether the person was asked, and whether the body began. */
  asked: boolean;
  begun: boolean;
}

/**
 * Runs calls until each is settled in the log or staged for the next batch: the last result is only staged, so that it
 * shares a flush with what follows. Rejects with the original fault, after the drain.
 */
export async function dispatch(
  calls: readonly PendingCall[],
  host: DispatchHost,
  options: DispatchOptions,
): Promise<void> {
  const run = new Dispatch(host, options);
  try {
    await run.all(calls);
  } catch (error) {
    await run.drain();
    throw error;
  }
}

class Dispatch {
  readonly #host: DispatchHost;
  readonly #options: DispatchOptions;
  /** Bodies that run and people that are asked. */
  readonly #moves = new Set<Promise<void>>();
  readonly #failed = new AbortController();
  readonly #slots: Slot[] = [];

  constructor(host: DispatchHost, options: DispatchOptions) {
    this.#host = host;
    this.#options = options;
  }

  async all(calls: readonly PendingCall[]): Promise<void> {
    for (const call of calls) await this.#take(call);
    for (;;) {
      if (this.#options.signal.aborted) this.#refuse();
      const asked = this.#question();
      const entered = this.#enter();
      if (this.#slots.every((slot) => slot.progress === "ended")) return;
      assert(asked.length + entered.length + this.#moves.size > 0, "calls are open and nothing moves");
      await this.#host.commit();
      for (const slot of asked) this.#ask(slot);
      for (const slot of entered) this.#begin(slot);
      // All that moved may have ended while the batch was written: then others may start at once.
      if (this.#moves.size > 0) await Promise.race(this.#moves);
    }
  }

  /** Nothing more is asked or admitted; what runs goes on to its end. */
  async drain(): Promise<void> {
    this.#failed.abort();
    for (const slot of this.#slots) {
      // Announced, perhaps durably, and never begun: nobody knows that better than we do.
      if (slot.progress === "running" && !slot.begun) this.#settleNotBegun(slot);
    }
    await Promise.allSettled(this.#moves);
  }

  /** What cannot run, or is not allowed to, is settled before anything runs. */
  async #take(call: PendingCall): Promise<void> {
    const { tools, effects } = this.#options;
    const checked = await checkCall(call.part, tools, effects.validate);
    const rerun = call.entered !== undefined;
    const slot: Slot = {
      call,
      progress: "waiting",
      locks: [],
      checked: undefined,
      verdict: { say: "run" },
      rerun,
      asked: false,
      begun: false,
    };
    this.#slots.push(slot);
    // Entered once, and today's tools do not take it: what became of it is not known.
    if (!checked.ok) return this.#settle(slot, rerun ? missingOutput(call) : checked.output);
    slot.checked = checked;
    slot.locks = checked.locks;
    slot.verdict = judge(call, checked, this.#options);
    if (slot.verdict.say === "refuse") this.#settle(slot, slot.verdict.output);
    if (slot.verdict.say === "ask") slot.progress = "asking";
  }

  /** Announces the questions that are not yet asked. One that a dead driver asked is asked again under its own id. */
  #question(): Slot[] {
    const fresh = this.#slots.filter((slot) => slot.progress === "asking" && !slot.asked);
    for (const slot of fresh) {
      const { part, approval } = slot.call;
      const digest = callDigest(part);
      if (approval?.digest === digest) continue;
      const ordinal = (approval?.ordinal ?? 0) + 1;
      const id = this.#options.effects.id("ap");
      this.#host.stage({ type: "approval.requested", approval: id, call: part.id, digest, ordinal });
    }
    return fresh;
  }

  #ask(slot: Slot): void {
    const { verdict, call } = slot;
    if (verdict.say !== "ask") return;
    slot.asked = true;
    this.#move(
      ask(verdict, AbortSignal.any([this.#options.signal, this.#failed.signal])).then((answer) => {
        slot.asked = false;
        // Unanswered: it stays where it is, for the abort or the step's failure to settle it as not started.
        if (!answer || !call.approval) return;
        slot.progress = "waiting";
        this.#host.stage({ type: "approval.resolved", approval: call.approval.id, scope: "call", ...answer });
        if (answer.answer === "deny") this.#settle(slot, denied(answer.reason));
      }),
    );
  }

  #enter(): Slot[] {
    const chosen = startable(this.#slots, this.#options.concurrency);
    for (const slot of chosen) {
      const { part, entered } = slot.call;
      this.#host.assertLease();
      this.#host.stage({
        type: "tool.entered",
        call: part.id,
        tool: part.tool,
        digest: callDigest(part),
        // A re-run is allowed by the effect of the first entry, whatever today's registry says.
        effect: entered?.effect ?? slot.checked?.prepared.effect ?? "write",
        key: entered?.key ?? part.id,
      });
      slot.progress = "running";
    }
    return chosen;
  }

  #refuse(): void {
    for (const slot of this.#slots) {
      const idle = slot.progress === "waiting" || (slot.progress === "asking" && !slot.asked);
      if (idle) this.#settle(slot, missingOutput(slot.call));
    }
  }

  #begin(slot: Slot): void {
    const { checked, call } = slot;
    if (!checked) return;
    const { signal, graceMs, effects } = this.#options;
    if (signal.aborted) return this.#settleNotBegun(slot);
    this.#host.assertLease();
    const id = call.part.id;
    const body = runBody(
      {
        prepared: checked.prepared,
        input: checked.input,
        callId: id,
        idempotencyKey: call.entered?.key ?? id,
        signal,
        graceMs,
        progress: (data) => this.#host.progress(id, data),
        keep: this.#host.keep,
        late: (output) => this.#host.late(id, output),
      },
      effects,
    );
    slot.begun = true;
    this.#move(
      body.then(({ output, by, durationMs }) =>
        this.#settle(slot, output, by === "tool" && slot.rerun ? "rerun" : by, durationMs),
      ),
    );
  }

  #move(work: Promise<void>): void {
    // A move that fails stays in the set, so that whoever waits next hears of it.
    const move: Promise<void> = work.then(() => void this.#moves.delete(move));
    move.catch(() => {});
    this.#moves.add(move);
  }

  #settleNotBegun(slot: Slot): void {
    const { part } = slot.call;
    this.#settle(slot, missingOutput(slot.rerun ? slot.call : { part }));
  }

  #settle(slot: Slot, output: ToolOutput, by: ToolSettled["by"] = "tool", durationMs?: number): void {
    slot.progress = "ended";
    const duration = durationMs === undefined ? {} : { durationMs };
    this.#host.stage({ type: "tool.settled", call: slot.call.part.id, output, by, ...duration });
  }
}
