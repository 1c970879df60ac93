/**
 * Reads that begin while their message is still being streamed.
 *
 * Owns: which calls may begin early, and what becomes of them when the attempt ends. Does not own: whether it is good
 * (attempt), calls that begin later (dispatch). Invariants:
 * 1. Only a `read` that is whole, valid and allowed without asking anybody begins, and only where no earlier call that
 *    conflicts with it is still to run: the attempt stays one that can be discarded.
 * 2. A body is entered only after its `tool.entered`, with attempt and input, is durable.
 * 3. When the attempt commits, results are adopted in call order, and what still runs is handed on. When it does not,
 *    bodies are stopped and drained; their results stay in the log as facts about that attempt.
 */
import { type JoinedSignal, joinSignals } from "../attempt/joined-signal.ts";
import { limit } from "../limit.ts";
import type { CallPart, MessagePart, ToolEntered, ToolOutput, ToolSettled } from "../log/event.ts";
import { Allowance } from "./allowance.ts";
import { judge } from "./approval.ts";
import { type BodyEnd, runBody } from "./body.ts";
import type { DispatchHost, DispatchOptions } from "./dispatch.ts";
import { tell } from "./output.ts";
import { callDigest } from "./pending.ts";
import { type PlannedCall, startable } from "./plan.ts";
import { checkCall, type RunnableCall } from "./prepare.ts";
import { codedOutput } from "./settle.ts";
import { everything } from "./tool.ts";

interface EarlyCall extends PlannedCall {
  part: CallPart;
  checked?: RunnableCall;
  /** From its entry on. Undefined at its end: the body never began. */
  run?: Promise<BodyEnd | undefined>;
  end?: BodyEnd;
}

/** Calls that run on after their message was committed, by id; each resolves when its result is staged. */
export type RunningCalls = ReadonlyMap<string, Promise<void>>;

type EagerHost = Pick<DispatchHost, "stage" | "commit" | "assertLease" | "progress" | "keep" | "late">;

export class EagerReads {
  readonly #attempt: string;
  readonly #host: EagerHost;
  readonly #options: DispatchOptions;
  readonly #calls: EarlyCall[] = [];
  readonly #allowance: Allowance;
  readonly #stop = new AbortController();
  readonly #stopped: JoinedSignal;
  #over = false;

  constructor(attempt: string, host: EagerHost, options: DispatchOptions) {
    this.#attempt = attempt;
    this.#host = host;
    this.#options = options;
    this.#stopped = joinSignals(options.signal, this.#stop.signal);
    this.#allowance = new Allowance({ chars: options.batchChars, images: limit.batchImages });
  }

  /** How many bodies were announced. */
  get entered(): number {
    return this.#calls.filter((call) => call.run).length;
  }

  /** A call begins to be streamed: until it is known, it may conflict with everything behind it. */
  started(part: MessagePart): void {
    if (part.type !== "tool-call" || part.providerExecuted) return;
    this.#calls.push({ part, locks: [everything], progress: "asking" });
  }

  /** A call is whole. */
  ended(part: MessagePart): void {
    const call = this.#calls.find((one) => one.part === part);
    if (!call || this.#over) return;
    if (part.type === "tool-call" && part.providerExecuted) {
      call.progress = "ended";
      return;
    }
    // What goes wrong here goes wrong again, with consequences, when the call is dispatched.
    void this.#consider(call).catch(() => {});
  }

  /** The attempt is good, and its message staged: stages the results there are, hands on what still runs. */
  adopt(): RunningCalls {
    this.#over = true;
    const running = new Map<string, Promise<void>>();
    for (const { part, run, end } of this.#calls) {
      // The end of a call that the output limit cut was invented.
      if (part.cut || !run) continue;
      const stage = (ended: BodyEnd | undefined) => this.#host.stage(resultOf(part.id, ended));
      if (end) stage(end);
      else running.set(part.id, run.then(stage));
    }
    // Whoever waits for them hears of a failure.
    void Promise.allSettled(running.values()).then(this.#stopped.release);
    return running;
  }

  /** The attempt is not good: stops and drains, and stages what came of it. */
  async discard(): Promise<void> {
    this.#over = true;
    this.#stop.abort(new DOMException("the answer that asked for it broke off", "AbortError"));
    for (const { part, run } of this.#calls) {
      if (run) this.#host.stage(resultOf(part.id, await run.catch(() => undefined)));
    }
    this.#stopped.release();
  }

  async #consider(call: EarlyCall): Promise<void> {
    const { part } = call;
    const checked = await checkCall(part, this.#options.tools, this.#options.effects.validate);
    if (this.#over) return;
    call.locks = checked.ok ? checked.locks : [];
    if (!checked.ok) call.progress = "ended";
    else if (checked.prepared.effect === "read" && judge({ part }, checked, this.#options).say === "run") {
      call.checked = checked;
      call.progress = "waiting";
    }
    await this.#advance();
  }

  async #advance(): Promise<void> {
    if (this.#over || this.#stopped.signal.aborted) return;
    const chosen = startable(this.#calls, this.#options.concurrency);
    if (chosen.length === 0) return;
    this.#host.assertLease();
    for (const call of chosen) {
      this.#host.stage(this.#entry(call.part));
      call.progress = "running";
    }
    const durable = this.#host.commit();
    for (const call of chosen) {
      call.run = durable.then(() => this.#begin(call));
      call.run.catch(() => {});
    }
    await durable;
  }

  #entry({ id, tool, input }: CallPart): ToolEntered {
    const digest = callDigest({ tool, input });
    return { type: "tool.entered", call: id, tool, digest, effect: "read", key: id, attempt: this.#attempt, input };
  }

  async #begin(call: EarlyCall): Promise<BodyEnd | undefined> {
    const { checked, part } = call;
    if (!checked || this.#stopped.signal.aborted) return undefined;
    const { session, graceMs, effects } = this.#options;
    const { keep, progress, late } = this.#host;
    const { outputChars } = checked.prepared;
    this.#host.assertLease();
    const telling = {
      call: part.id,
      keep,
      grant: (chars: number) => this.#allowance.settle(Math.min(chars, outputChars)),
      show: (images: number) => this.#allowance.show(images),
    };
    call.end = await runBody(
      {
        prepared: checked.prepared,
        input: checked.input,
        session,
        callId: part.id,
        idempotencyKey: part.id,
        signal: this.#stopped.signal,
        graceMs,
        progress: (data) => progress(part.id, data),
        tell: (whole) => tell(whole, telling),
        late: (output: ToolOutput) => late(part.id, output),
      },
      effects,
    );
    call.progress = "ended";
    void this.#advance().catch(() => {});
    return call.end;
  }
}

function resultOf(call: string, end: BodyEnd | undefined): ToolSettled {
  if (!end) return { type: "tool.settled", call, output: codedOutput("TOOL_NOT_STARTED"), by: "tool" };
  const { output, by, durationMs } = end;
  return { type: "tool.settled", call, output, by, durationMs };
}
