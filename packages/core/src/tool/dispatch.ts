/**
 * Runs the calls of one committed message.
 *
 * Owns: order, overlap, approval, entry, drain. Does not own: the log (its host appends), what missing results are
 * called (settle). Invariants:
 * 1. A body is entered only after its `tool.entered` is durable, by the driver that appended it, once (L4).
 * 2. Conflicting calls run in call order; all else overlaps, within the bound. No failure cancels a sibling.
 * 3. Each result is recorded as it comes. When recording or scheduling fails, nothing more is admitted, started bodies
 *    are drained, and their results go with the failure.
 */
import type { Effects } from "../effects.ts";
import type { Json, LogEvent, ToolOutput, ToolSettled } from "../log/event.ts";
import { type Approver, approve, type Permission } from "./approval.ts";
import { runBody } from "./body.ts";
import { callDigest, type PendingCall } from "./pending.ts";
import { type CallProgress, startable } from "./plan.ts";
import { type CheckedCall, checkCall, type PreparedTools } from "./prepare.ts";
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
  note(about: string, text: string, data?: Json): void;
}

export interface DispatchOptions {
  tools: PreparedTools;
  permission: Permission;
  approver: Approver | undefined;
  signal: AbortSignal;
  concurrency: number;
  graceMs: number;
  effects: Effects;
}

/** A step failure: the original fault, and results that no batch holds yet. */
export class DispatchError extends Error {
  readonly results: ToolSettled[];
  constructor(cause: unknown, results: ToolSettled[]) {
    super("the tool runtime failed", { cause });
    this.results = results;
  }
}

interface Slot {
  id: string;
  call: PendingCall;
  checked: CheckedCall;
  locks: readonly Lock[];
  progress: CallProgress;
  /** Entered by a driver before us; `call` itself changes as our own facts are staged. */
  rerun: boolean;
}

/**
 * Runs calls until each is settled in the log or staged for the next batch: the last result is only staged, so that it
 * shares a flush with what follows.
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
    throw new DispatchError(error, run.results);
  }
}

class Dispatch {
  /** All results of this run, recorded or not. */
  readonly results: ToolSettled[] = [];
  readonly #host: DispatchHost;
  readonly #options: DispatchOptions;
  readonly #running = new Set<Promise<void>>();
  #slots: Slot[] = [];

  constructor(host: DispatchHost, options: DispatchOptions) {
    this.#host = host;
    this.#options = options;
  }

  async all(calls: readonly PendingCall[]): Promise<void> {
    const { tools, effects } = this.#options;
    for (const call of calls) {
      const checked = await checkCall(call.part, tools, effects.validate);
      this.#slots.push({
        id: call.part.id,
        call,
        checked,
        locks: checked.ok ? checked.locks : [],
        progress: "waiting",
        rerun: call.entered !== undefined,
      });
    }
    for (const slot of this.#slots) await this.#admit(slot);
    for (;;) {
      const started = this.#options.signal.aborted ? this.#refuseWaiting() : this.#enter();
      if (this.#slots.every((slot) => slot.progress === "ended")) return;
      await this.#host.commit();
      for (const slot of started) this.#start(slot);
      if (this.#running.size === 0) continue;
      await Promise.race(this.#running);
    }
  }

  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** What cannot run, or is not allowed to, is settled before anything runs. */
  async #admit(slot: Slot): Promise<void> {
    if (!slot.checked.ok) return this.#settle(slot, slot.checked.output);
    const denied = await approve(slot.call.part, slot.checked, this.#host, this.#options);
    if (denied) this.#settle(slot, denied);
  }

  #enter(): Slot[] {
    const chosen = startable(this.#slots, this.#options.concurrency) as Slot[];
    for (const slot of chosen) {
      if (!slot.checked.ok) continue;
      const { part, entered } = slot.call;
      this.#host.assertLease();
      this.#host.stage({
        type: "tool.entered",
        call: slot.id,
        tool: part.tool,
        digest: callDigest(part),
        effect: slot.checked.prepared.effect,
        key: entered?.key ?? slot.id,
      });
      slot.progress = "running";
    }
    return chosen;
  }

  #refuseWaiting(): Slot[] {
    for (const slot of this.#slots) {
      if (slot.progress === "waiting") this.#settle(slot, missingOutput({ part: slot.call.part }));
    }
    return [];
  }

  #start(slot: Slot): void {
    const { checked, call } = slot;
    if (!checked.ok) return;
    this.#host.assertLease();
    const { signal, graceMs, effects } = this.#options;
    const body = runBody(
      {
        prepared: checked.prepared,
        input: checked.input,
        callId: slot.id,
        idempotencyKey: call.entered?.key ?? slot.id,
        signal,
        graceMs,
        progress: (data) => this.#host.progress(slot.id, data),
        late: (output) =>
          this.#host.note(slot.id, "a result came after the call was abandoned", output as unknown as Json),
      },
      effects,
    );
    const running = body.then(({ output, by, durationMs }) => {
      this.#running.delete(running);
      this.#settle(slot, output, by === "tool" && slot.rerun ? "rerun" : by, durationMs);
    });
    this.#running.add(running);
  }

  #settle(slot: Slot, output: ToolOutput, by: ToolSettled["by"] = "tool", durationMs?: number): void {
    slot.progress = "ended";
    const event: ToolSettled = {
      type: "tool.settled",
      call: slot.id,
      output,
      by,
      ...(durationMs === undefined ? {} : { durationMs }),
    };
    this.results.push(event);
    this.#host.stage(event);
  }
}
