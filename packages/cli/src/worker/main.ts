/**
 * `pawl worker`: drives what waits in a store, until it is told to go.
 *
 * Owns: opening, signals, how it ends. Does not own: who may drive (the store), when to claim (core's worker), with what
 * (workbench). Invariants:
 * 1. The first signal drains: nothing more is claimed, and what is driven is handed over between two steps. A second one, or the
 *    end of the grace, leaves at once: what was in the middle of something is taken over by whoever claims it next.
 * 2. The exit code is 0 only where nothing was left in the middle.
 */
import { createWorker, openSession, type Worker, type WorkerEvent } from "@pawl/core";
import { exitOfOutcome } from "../exit.ts";
import { openStore } from "../open-store.ts";
import { storeWords } from "../place.ts";
import { setUp } from "../setup.ts";
import { counted, line } from "../style.ts";
import { TaskWatch } from "../task-watch.ts";
import { Attention } from "./attention.ts";
import { Health } from "./health.ts";
import { Journal } from "./journal.ts";
import { loadTelemetry, type Telemetry } from "./telemetry.ts";
import { Workbench, type WorkbenchOptions } from "./workbench.ts";

export interface WorkerCommandOptions extends WorkbenchOptions {
  json?: boolean;
  /** Sessions at once. */
  concurrency: number;
  /** Those whose files are here. */
  workspace?: string[];
  /** Seconds. */
  grace: number;
  /** `[HOST:]PORT`. */
  health?: string;
  /** A module of the user's own. */
  telemetry?: string;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function runWorker(options: WorkerCommandOptions): Promise<number> {
  const { workspace: workspaces = [] } = options;
  // What is wrong with the model or its key is wrong for every session: said now, not session by session.
  const { chosen, config, notices } = await setUp(options, process.cwd());
  const runtime = await openStore(options.store, { concurrency: options.concurrency });
  const journal = new Journal(options);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => runtime.store.close());
  for (const warning of [...runtime.warnings, ...notices]) journal.say("warn", `! ${warning}`);
  const telemetry = await loadTelemetry(options.telemetry, (session) => openSession(runtime, session));
  ends.defer(() => telemetry?.close?.());
  const tasks = new TaskWatch();
  const bench = new Workbench(runtime, options, tasks, (text) => journal.say("warn", `! ${text}`));
  ends.defer(() => bench.close());
  tasks.show = (item, { session }) => {
    if (item.type === "approval.pending") journal.asked(session, item.approval);
  };
  const attention = new Attention();
  const departure = new Departure(attention);
  // Before anything can be claimed.
  departure.listen();
  ends.defer(() => departure.release());
  const worker = createWorker({
    runtime,
    agent: (session) => bench.agent(session),
    concurrency: options.concurrency,
    workspaces,
    ...(runtime.wake ? { wake: runtime.wake } : {}),
    // What follows from our own end is nobody's news: the store is not away, we have closed it.
    on: (event) => departure.isOver || hear(event, { bench, journal, attention, departure, telemetry }),
  });
  const health = await healthOf(options, worker, departure, () => runtime.store.resolveName("readyz")).catch(
    async (error: unknown) => {
      await worker.drain();
      throw error;
    },
  );
  ends.defer(() => health?.close());
  journal.say("strong", `worker on ${storeWords(options.store)}`);
  const { mode } = config.values;
  const places = `${counted(options.concurrency, "session")} at once, ${chosen.word}, mode ${mode}, ${hasWords(workspaces)}`;
  journal.say("quiet", health ? `${places}, health on ${health.url}` : places);
  return await left(worker, departure, journal, options.grace);
}

function hasWords(workspaces: readonly string[]): string {
  if (workspaces.length === 0) return "no workspace";
  return `workspace ${workspaces.map((workspace) => line(workspace, 72)).join(", ")}`;
}

interface Ears {
  bench: Workbench;
  journal: Journal;
  attention: Attention;
  departure: Departure;
  telemetry: Telemetry | undefined;
}

function hear(event: WorkerEvent, { bench, journal, attention, departure, telemetry }: Ears): void {
  try {
    telemetry?.on(event);
  } catch {
    // A meter that fails must cost no line and no turn.
  }
  journal.told(event, "session" in event ? bench.seat(event.session) : undefined);
  if (!("session" in event) || event.type === "ended") return;
  const { session } = event;
  if (event.type !== "claimed") {
    attention.end(session);
    bench.leave(session);
    return departure.look();
  }
  attention.begin(session);
  const listen = async () => {
    for await (const item of event.live) {
      attention.hear(session, item);
      if (item.type === "entry") bench.hear(session, item.entry);
      journal.heard(session, item, bench.seat(session));
      departure.look();
    }
  };
  void listen();
}

/** Signals, and when there is nothing left that would be worth waiting for. */
class Departure {
  readonly #attention: Attention;
  readonly #called = Promise.withResolvers<void>();
  readonly #hurried = Promise.withResolvers<void>();
  readonly #people = Promise.withResolvers<void>();
  /** Signals so far. */
  #count = 0;

  constructor(attention: Attention) {
    this.#attention = attention;
  }

  get called(): Promise<void> {
    return this.#called.promise;
  }

  get isCalled(): boolean {
    return this.#count > 0;
  }

  /** We have left, and said what was cut off. */
  isOver = false;

  /** A second signal, or only people are waited for. */
  get early(): Promise<void> {
    return Promise.race([this.#hurried.promise, this.#people.promise]);
  }

  /** What is cut off by leaving now. */
  get busy(): string[] {
    return this.#attention.busy;
  }

  listen(): void {
    for (const signal of signals) process.on(signal, this.#onSignal);
    for (const stream of [process.stdout, process.stderr]) stream.on("error", this.#onPipe);
  }

  release(): void {
    for (const signal of signals) process.off(signal, this.#onSignal);
  }

  /** Something has changed. */
  look(): void {
    if (this.isCalled && this.#attention.onlyPeople) this.#people.resolve();
  }

  #onSignal = (): void => {
    this.#count += 1;
    if (this.#count > 1) this.#hurried.resolve();
    this.#called.resolve();
    this.look();
  };

  /** Nobody hears what it says any more. It says something for every line, and that is one call to leave, not many. */
  #onPipe = (): void => {
    if (!this.isCalled) this.#onSignal();
  };
}

async function left(worker: Worker, departure: Departure, journal: Journal, grace: number): Promise<number> {
  await departure.called;
  const count = worker.driving.length;
  if (count > 0) {
    const what = `${counted(count, "session")} ${count === 1 ? "goes" : "go"} on to the end of a step, for ${grace} s at most`;
    journal.say("quiet", `leaving: ${what}; a second signal leaves at once`);
  }
  await Promise.race([worker.drain({ graceMs: grace * 1000 }), departure.early]);
  departure.isOver = true;
  const { busy } = departure;
  if (busy.length === 0) {
    const rest = worker.driving.length;
    const waits =
      rest === 0 ? "" : `; what waits for an answer (${counted(rest, "session")}) is there for the next worker`;
    journal.say("good", `✓ left, nothing was cut off${waits}`);
    return 0;
  }
  const words = `left in the middle of ${busy.join(", ")}: whoever claims ${busy.length === 1 ? "it" : "them"} next takes over`;
  journal.say("warn", `! ${words}`);
  return exitOfOutcome("interrupted");
}

async function healthOf(
  { health, concurrency }: WorkerCommandOptions,
  worker: Worker,
  departure: Departure,
  askStore: () => Promise<unknown>,
): Promise<Health | undefined> {
  if (health === undefined) return undefined;
  const readiness = () => ({ draining: departure.isCalled, driving: worker.driving.length, places: concurrency });
  return Health.listen({ at: health, readiness, askStore });
}
