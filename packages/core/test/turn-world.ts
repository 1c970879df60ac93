/** The small world of turn tests: an empty store, fake time, one session, and short ways to look at its log. */
import assert from "node:assert/strict";
import { unpaired } from "../src/context/laws.ts";
import { contextFold, promptOf } from "../src/context/projection.ts";
import type { Target } from "../src/context/target.ts";
import type { Effects } from "../src/effects.ts";
import { limit } from "../src/limit.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { EventOf, EventType, ToolOutput } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import type { Holder, Store } from "../src/store/store.ts";
import { type FakeEffects, fakeHolder } from "../src/testing/fake.ts";
import { type ScriptEntry, type ScriptedModel, scriptedModel } from "../src/testing/model.ts";
import type { Agent } from "../src/turn/agent.ts";
import { createSession, openSession, type Runtime, type Session } from "../src/turn/session.ts";
import { verify } from "../src/turn/verify.ts";
import { ground } from "./ground.ts";

export class TurnWorld {
  readonly effects: FakeEffects;
  readonly #dead = new Set<string>();
  readonly #accepted = new Map<string, string[]>();
  #holders = 0;
  readonly store: Store;

  constructor() {
    this.effects = ground().effects();
    const store = ground().open(this);
    const post = store.post.bind(store);
    store.post = async (session, one) => {
      const said = await post(session, one);
      if (one.kind === "input" || one.kind === "steer")
        this.#accepted.set(session, [...this.accepted(session), one.id]);
      return said;
    };
    this.store = store;
  }

  readonly isAlive = (holder: Holder): boolean | undefined => (this.#dead.has(holder.id) ? false : undefined);

  /** Inputs and steers that were acknowledged. */
  accepted(session = "s"): readonly string[] {
    return this.#accepted.get(session) ?? [];
  }

  /** What waits in the mailbox. */
  async mailbox(session = "s"): Promise<string[]> {
    return (await this.store.mailbox(session)).map((entry) => entry.id);
  }

  /** A process: its own holder. `store` may be a faulty one over ours. */
  process(store: Store = this.store): Runtime & { die(): void } {
    this.#holders += 1;
    const holder = fakeHolder(`process-${this.#holders}`);
    return { store, effects: this.effects, holder, die: () => this.#dead.add(holder.id) };
  }

  session(id = "s"): Promise<Session> {
    return createSession(this.process(), id);
  }

  open(id = "s"): Promise<Session> {
    return openSession(this.process(), id);
  }
}

/** The deadline that marks a tool body among other timers. */
export const bodyTimeoutMs = 77_777;

/** The runtime itself breaks where the body number `nth` is about to start. */
export function breakingAt(runtime: Runtime, nth: number): Runtime {
  const { effects } = runtime;
  let bodies = 0;
  const after: Effects["timers"]["after"] = (ms, fn) => {
    if (ms === bodyTimeoutMs && ++bodies === nth) throw new Error("the timers are broken");
    return effects.timers.after(ms, fn);
  };
  const broken: Effects = {
    ...effects,
    clock: effects.clock,
    timers: { after },
    random: () => 0.5,
    id: (prefix) => effects.id(prefix),
  };
  return { ...runtime, effects: broken };
}

export const testModel = { provider: "test", id: "scripted" };
export const testTarget: Target = { provider: "test", model: "scripted", tools: new Set() };

export function agentOf(script: readonly ScriptEntry[], rest: Partial<Agent> = {}): Agent & { model: ScriptedModel } {
  return { ...rest, model: scriptedModel(script) };
}

/** A promise that a test settles when it likes. */
/** The process falls asleep, past its lease, while an announcement is written: no timer has fired yet, only the clock says it. */
export function sleepBehindAnnouncement({ store, effects: { clock } }: TurnWorld): void {
  const { append } = store;
  const awake = clock.monotonic;
  store.append = async (batch) => {
    await append.call(store, batch);
    if (batch.records.at(-1)?.type === "attempt.started") clock.monotonic = () => awake() + limit.leaseMs;
  };
}

export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  return Promise.withResolvers<T>();
}

export function eventsOf<T extends EventType>(entries: readonly LogEntry[], type: T): EventOf<T>[] {
  return entries.map((entry) => entry.event).filter((event): event is EventOf<T> => event.type === type);
}

export function typesOf(entries: readonly LogEntry[]): string[] {
  return entries.map((entry) => entry.event.type);
}

/** Every law, by name, that the log breaks. */
export function brokenLaws(entries: readonly LogEntry[]): string[] {
  return verify(entries).flatMap(({ violations }) =>
    violations.map(({ law, seq, message }) => `${law} at ${seq}: ${message}`),
  );
}

export function promptFor(entries: Iterable<LogEntry>): ReturnType<typeof promptOf> {
  return promptOf(runFold(contextFold(testTarget), entries), undefined);
}

/** The laws hold, and the next request would be paired. */
export function assertLawful(entries: readonly LogEntry[], where = ""): void {
  assert.deepEqual(brokenLaws(entries), [], where);
  assert.deepEqual(unpaired(promptFor(entries)), [], where);
}

export function outputText({ content }: ToolOutput): string {
  return content.map((part) => (part.type === "text" ? part.text : JSON.stringify(part))).join("\n");
}
