/**
 * The snapshot of the workspace that a step begins with, so that what its tools change can be taken back.
 *
 * Owns: when one is taken, how long anybody waits for it, what is recorded of it. Does not own: how files are kept (the
 * agent's snapshotter). Invariants:
 * 1. It is taken before the first body with effects of its step, and durable before that body: its record stands in
 *    front of that call's `tool.entered`, in the same batch.
 * 2. A step has at most one, and none once something with effects was entered: that would be a picture of the damage.
 * 3. Without one the turn goes on, unless the agent says `stop`: files that cannot be brought back are the smaller harm.
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { joinSignals } from "../signal.ts";
import { thrownText } from "../tool/output.ts";
import type { Driver } from "./driver.ts";
import { type OpenStep, openStep } from "./state.ts";

export interface SnapshotRequest {
  session: string;
  turn: string;
  step: string;
  /** The turn was stopped, or the time is up: what comes later is not heard. */
  signal: AbortSignal;
  /** Says, once in a drive, what the snapshot does not hold: a note in the log, and a warning for whoever watches. */
  warn(text: string): void;
}

/** Keeps the files that an agent's tools may change. */
export interface Snapshotter {
  /**
   * Keeps the workspace as it is now. Resolves with the word by which it is found again, which `snapshot.recorded` holds;
   * undefined: there is nothing to keep. May throw: see the agent's `withoutSnapshot`.
   */
  take(request: SnapshotRequest): Promise<string | undefined>;
}

/** Whether the state of the workspace before the step can still be kept. */
function isSnapshotDue({ snapshot, calls }: OpenStep): boolean {
  if (snapshot !== undefined) return false;
  return [...calls.values()].every(({ entered }) => !entered || entered.effect === "read");
}

type Answer = { kept: string | undefined } | { failed: unknown } | "stopped" | "late";

export class WorkspaceSnapshots {
  /** The step that one was last asked for, whatever came of it. */
  #asked: string | undefined;
  /** It did not come in time: waiting for it at every step would be worse than to do without. */
  #late = false;
  readonly #told = new Set<string>();

  /** Undefined where the next body may begin; else to be awaited, and looked around anew. */
  due(driver: Driver): Promise<void> | undefined {
    const step = openStep(driver.ledger.state);
    if (!driver.agent.snapshot || this.#late || this.#asked === step.id || !isSnapshotDue(step)) return undefined;
    this.#asked = step.id;
    return this.#record(driver, step.id);
  }

  async #record(driver: Driver, step: string): Promise<void> {
    const { ledger, agent } = driver;
    const answer = await this.#take(driver, step);
    if (answer === "stopped") return;
    // Where nothing may run without one, the turn has failed by it; the next is not to run without either.
    this.#late = answer === "late" && agent.withoutSnapshot === "go-on";
    const problem = problemOf(answer, agent.snapshotMs);
    if (problem === undefined) {
      if (typeof answer === "object" && "kept" in answer && answer.kept)
        ledger.stage({ type: "snapshot.recorded", step, snapshot: answer.kept });
      return;
    }
    const text = `no snapshot of the workspace before this step: ${problem}`;
    if (agent.withoutSnapshot === "stop") throw noSnapshot(text, answer);
    this.#tell(driver, step, "no snapshot", `${text}; what it changes cannot be taken back`);
  }

  async #take(driver: Driver, step: string): Promise<Answer> {
    const { session, agent, abort, effects, ledger, feed } = driver;
    const over = new AbortController();
    const { signal } = joinSignals(abort.signal, over.signal);
    const { promise: ended, resolve } = Promise.withResolvers<Answer>();
    const stop = () => resolve("stopped");
    const cancels = [
      effects.timers.after(agent.snapshotMs, () => resolve("late")),
      // What the model has said must not wait for the log as long as this may take.
      effects.timers.after(limit.snapshotPatienceMs, () => {
        ledger.commit().catch(() => {});
        feed.push({
          type: "warning",
          text: "keeping the state of the workspace before the first change takes a while",
        });
      }),
    ];
    abort.signal.addEventListener("abort", stop, { once: true });
    if (abort.aborted) stop();
    try {
      const warn = (text: string) => (signal.aborted ? undefined : this.#tell(driver, step, text, text));
      const turn = ledger.state.turn?.id ?? "";
      const taken = Promise.resolve(agent.snapshot?.take({ session, turn, step, signal, warn })).then(
        (kept): Answer => ({ kept }),
        (failed: unknown): Answer => ({ failed }),
      );
      return await Promise.race([ended, taken]);
    } catch (failed) {
      return { failed };
    } finally {
      for (const cancel of cancels) cancel();
      abort.signal.removeEventListener("abort", stop);
      over.abort(new DOMException("nobody waits for this snapshot any more", "AbortError"));
    }
  }

  #tell({ ledger, feed }: Driver, step: string, what: string, text: string): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    ledger.stage({ type: "note.recorded", about: step, text });
    feed.push({ type: "warning", text });
  }
}

function noSnapshot(text: string, answer: Exclude<Answer, "stopped">): PawlError {
  const todo = "mend that and continue the turn, or let the agent go on without one";
  const cause = typeof answer === "object" && "failed" in answer ? { cause: answer.failed } : {};
  return new PawlError(
    "NO_SNAPSHOT",
    `${text}; the agent says withoutSnapshot "stop", nothing was run: ${todo}`,
    cause,
  );
}

function problemOf(answer: Exclude<Answer, "stopped">, ms: number): string | undefined {
  if (answer === "late") return `it took longer than ${ms / 1000} s`;
  if ("failed" in answer) return thrownText(answer.failed) || "nothing that says why was thrown";
  const { kept } = answer;
  return kept === undefined || typeof kept === "string" ? undefined : `it is no text but ${typeof kept}`;
}
