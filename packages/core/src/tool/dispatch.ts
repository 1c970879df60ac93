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
import { limit } from "../limit.ts";
import type { Effect, Json, LogEvent, ToolEntered, ToolOutput, ToolSettled } from "../log/event.ts";
import { joinSignals } from "../signal.ts";
import { Allowance } from "./allowance.ts";
import {
  type Approval,
  answerAtOnce,
  ask,
  denied,
  type HeardAnswer,
  judge,
  nobody,
  type PermissionQuestion,
} from "./approval.ts";
import { runBody } from "./body.ts";
import type { RunningCalls } from "./eager.ts";
import { type KeepBytes, type Telling, tell } from "./output.ts";
import { callDigest, type PendingCall } from "./pending.ts";
import { type CallProgress, startable } from "./plan.ts";
import { type CheckedCall, checkInTime, type PreparedTools, type RunnableCall } from "./prepare.ts";
import { missingOutput } from "./settle.ts";
import { enteredSite, type Host, siteOf } from "./site.ts";
import { everything, type Lock } from "./tool.ts";

/** What the driver gives a dispatcher: a way into the log, and ears. */
export interface DispatchHost {
  /** Adds an event to the next batch. */
  stage(event: LogEvent): void;
  /** Makes everything staged durable. */
  commit(): Promise<void>;
  /** Throws when our lease is no longer valid by our own monotonic clock. */
  assertLease(): void;
  /** Asked before a body with effects is announced. A promise: await it, then look around anew and ask again. */
  beforeEffects(): Promise<void> | undefined;
  /** The next batch takes this post out of the mailbox. */
  consume(post: string): void;
  /** A person is asked about this call. */
  asked(call: PendingCall): void;
  /** Policy ends the turn, since nobody can answer. */
  abort(why: string): void;
  progress(call: string, data: Json): void;
  keep: KeepBytes;
  /** A body ended after its call was settled without it. May come long after the dispatch is over. */
  late(call: string, output: ToolOutput): void;
}

export interface DispatchOptions extends Approval {
  session: string;
  /** The machine that the bodies run on. */
  machine: Host;
  tools: PreparedTools;
  signal: AbortSignal;
  concurrency: number;
  graceMs: number;
  /** What the results may bring into context together, characters. */
  batchChars: number;
  effects: Effects;
}

/** A call and how far it is. */
interface Slot {
  call: PendingCall;
  progress: CallProgress;
  locks: readonly Lock[];
  /** Undefined where the call can never run: it is settled from the start. */
  checked: RunnableCall | undefined;
  /** What a person is asked. */
  question: PermissionQuestion | undefined;
  /** Entered before this dispatch, by a driver that died. `call` itself changes as our own facts are staged. */
  rerun: boolean;
  /** While a person is being asked: ends the asking. */
  asking: AbortController | undefined;
  begun: boolean;
  /** Its share of what the model may be told is taken. */
  told: boolean;
}

/**
 * Runs calls until each is settled in the log or staged for the next batch: the last result is only staged, so that it
 * shares a flush with what follows. Rejects with the original fault, after the drain.
 */
export async function dispatch(
  calls: readonly PendingCall[],
  host: DispatchHost,
  options: DispatchOptions,
  running: RunningCalls = new Map(),
): Promise<void> {
  const allowance = new Allowance({ chars: options.batchChars, images: limit.batchImages }, calls.length);
  const run = new Dispatch(host, options, allowance, running);
  try {
    await run.all(calls);
  } catch (error) {
    await run.drain();
    throw error;
  }
}

/** Who refuses a second run says nothing of the first: what became of it is not known. */
function refusal({ rerun, call }: Slot, output: ToolOutput): ToolOutput {
  return rerun ? missingOutput(call) : output;
}

/** A re-run is allowed by the effect of the first entry, whatever today's registry says. */
function effectOf({ call, checked }: Slot): Effect {
  return call.entered?.effect ?? checked?.prepared.effect ?? "write";
}

class Dispatch {
  readonly #host: DispatchHost;
  readonly #options: DispatchOptions;
  /** Bodies that run and people that are asked. */
  readonly #moves = new Set<Promise<void>>();
  readonly #failed = new AbortController();
  readonly #slots: Slot[] = [];
  readonly #allowance: Allowance;

  readonly #running: RunningCalls;

  constructor(host: DispatchHost, options: DispatchOptions, allowance: Allowance, running: RunningCalls) {
    this.#running = running;
    this.#host = host;
    this.#options = options;
    this.#allowance = allowance;
  }

  async all(calls: readonly PendingCall[]): Promise<void> {
    for (const call of calls) await this.#take(call);
    for (;;) {
      const asked = this.#options.signal.aborted ? [] : this.#announce();
      if (this.#options.signal.aborted) this.#refuse();
      const chosen = startable(this.#slots, this.#options.concurrency);
      const before = chosen.some((slot) => effectOf(slot) !== "read") ? this.#host.beforeEffects() : undefined;
      if (before) {
        await before;
        continue;
      }
      const entered = this.#enter(chosen);
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
    await Promise.allSettled([...this.#moves, ...this.#running.values()]);
  }

  /** What cannot run, or is not allowed to, is settled before anything runs. */
  async #take(call: PendingCall): Promise<void> {
    const { tools, effects, signal } = this.#options;
    const checked = await checkInTime(call.part, tools, effects, signal);
    const rerun = call.entered !== undefined;
    const slot: Slot = {
      call,
      progress: "waiting",
      locks: [],
      checked: undefined,
      question: undefined,
      rerun,
      asking: undefined,
      begun: false,
      told: false,
    };
    this.#slots.push(slot);
    const running = this.#running.get(call.part.id);
    if (running) return this.#await(slot, running, checked);
    // Entered once, and today's tools do not take it: what became of it is not known.
    if (!checked.ok) return this.#settle(slot, rerun ? missingOutput(call) : checked.output);
    slot.checked = checked;
    slot.locks = checked.locks;
    const verdict = judge(call, checked, this.#options);
    if (verdict.say === "refuse") this.#settle(slot, refusal(slot, verdict.output));
    if (verdict.say !== "ask") return;
    slot.question = verdict.question;
    slot.progress = "asking";
  }

  /** It began before its message was whole: others that conflict with it wait, and it records its own result. */
  #await(slot: Slot, running: Promise<void>, checked: CheckedCall): void {
    Object.assign(slot, { progress: "running", begun: true, told: true });
    slot.locks = checked.ok ? checked.locks : [everything];
    this.#move(
      running.then(() => {
        slot.progress = "ended";
      }),
    );
  }

  /**
   * Announces the questions that are not yet asked; what can be answered at once is. One that a dead driver asked is asked
   * again under its own id.
   */
  #announce(): Slot[] {
    for (const slot of this.#slots) {
      // Within this loop an answer may settle a later question, too.
      if (slot.progress !== "asking" || slot.asking) continue;
      const { part, approval } = slot.call;
      const digest = callDigest(part);
      if (approval?.digest !== digest) {
        const { effects, approvalMs } = this.#options;
        const expiry = approvalMs > 0 ? { expiresAt: effects.clock.now() + approvalMs } : {};
        const ordinal = (approval?.ordinal ?? 0) + 1;
        const id = effects.id("ap");
        this.#host.stage({ type: "approval.requested", approval: id, call: part.id, digest, ordinal, ...expiry });
      }
      if (slot.call.approval) this.#hear(slot, answerAtOnce(slot.call.approval, this.#options));
    }
    return this.#slots.filter((slot) => slot.progress === "asking" && !slot.asking);
  }

  #ask(slot: Slot): void {
    const { question, call, progress } = slot;
    // Meanwhile another answer may have settled it, too.
    if (!question || !call.approval || progress !== "asking") return;
    const asking = new AbortController();
    slot.asking = asking;
    this.#host.asked(call);
    const wanted = joinSignals(this.#options.signal, this.#failed.signal, asking.signal);
    const heard = ask(question, call.approval, this.#options, wanted.signal, this.#options.effects).finally(
      wanted.release,
    );
    this.#move(
      heard.then((answer) => {
        slot.asking = undefined;
        // Unanswered: it stays where it is, for the abort or the step's failure to settle it as not started.
        this.#hear(slot, answer);
      }),
    );
  }

  #hear(slot: Slot, answer: HeardAnswer | undefined): void {
    const { approval } = slot.call;
    if (!answer || !approval || slot.progress !== "asking") return;
    const { post, scope = "call", ...said } = answer;
    this.#host.stage({ type: "approval.resolved", approval: approval.id, scope, ...said });
    if (post !== undefined) this.#host.consume(post);
    slot.progress = "waiting";
    if (answer.answer === "deny") this.#settle(slot, refusal(slot, denied(answer.reason)));
    if (answer === nobody && this.#options.unanswered === "abort") {
      this.#host.abort(`${slot.call.part.tool} needs a person's approval, and nobody is there to give it`);
    }
    if (scope !== "call") this.#spread(approval.id, answer.by);
  }

  /** An answer that stands may be for other questions that are open. */
  #spread(approval: string, by: string): void {
    for (const slot of this.#slots) {
      if (slot.progress !== "asking" || !slot.checked) continue;
      const verdict = judge(slot.call, slot.checked, this.#options);
      if (verdict.say === "ask") continue;
      slot.asking?.abort();
      const answer = verdict.say === "run" ? "allow" : "deny";
      if (slot.call.approval) this.#hear(slot, { answer, by, reason: `as the answer to ${approval} says` });
      else if (verdict.say === "run") slot.progress = "waiting";
      else this.#settle(slot, refusal(slot, verdict.output));
    }
  }

  #enter(chosen: Slot[]): Slot[] {
    for (const slot of chosen) {
      const { part, entered } = slot.call;
      this.#host.assertLease();
      this.#host.stage({
        type: "tool.entered",
        call: part.id,
        tool: part.tool,
        digest: callDigest(part),
        effect: effectOf(slot),
        key: entered?.key ?? part.id,
        ...this.#site(slot, entered?.key ?? part.id),
      });
      slot.progress = "running";
    }
    return chosen;
  }

  #site({ checked }: Slot, key: string): Pick<ToolEntered, "site"> {
    const site = checked && siteOf(checked, key);
    return site ? { site: enteredSite(site, this.#options.machine) } : {};
  }

  #refuse(): void {
    for (const slot of this.#slots) {
      const idle = slot.progress === "waiting" || (slot.progress === "asking" && !slot.asking);
      if (idle) this.#settle(slot, missingOutput(slot.call));
    }
  }

  #begin(slot: Slot): void {
    const { checked, call } = slot;
    if (!checked) return;
    const { session, signal, graceMs, effects } = this.#options;
    if (signal.aborted) return this.#settleNotBegun(slot);
    this.#host.assertLease();
    const id = call.part.id;
    const body = runBody(
      {
        prepared: checked.prepared,
        input: checked.input,
        session,
        callId: id,
        idempotencyKey: call.entered?.key ?? id,
        signal,
        graceMs,
        progress: (data) => this.#host.progress(id, data),
        tell: (whole) => tell(whole, this.#telling(slot, checked)),
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

  /** A result that comes when its call is over is nobody's share. */
  #telling(slot: Slot, { prepared: { outputChars } }: RunnableCall): Telling {
    const call = slot.call.part.id;
    const { keep } = this.#host;
    const grant = (chars: number) => Math.min(chars, outputChars);
    if (slot.progress === "ended") return { call, keep, grant, show: (images) => images };
    slot.told = true;
    return {
      call,
      keep,
      grant: (chars) => this.#allowance.settle(grant(chars)),
      show: (images) => this.#allowance.show(images),
    };
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
    if (!slot.told) this.#allowance.settle(0);
    const duration = durationMs === undefined ? {} : { durationMs };
    this.#host.stage({ type: "tool.settled", call: slot.call.part.id, output, by, ...duration });
  }
}
