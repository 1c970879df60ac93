/** The whole runtime against a model server: real sockets, a real clock whose watchdog a test can set off. */
import assert from "node:assert/strict";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelServer, Protocol } from "@pawl/model-server";
import {
  type Agent,
  createSession,
  defineTool,
  type Effects,
  type EventOf,
  type LogEntry,
  type Runtime,
  type Session,
  type TurnResult,
  verify,
} from "../src/index.ts";
import { nodeEffects } from "../src/node/effects.ts";
import { validateJsonSchema } from "../src/node/validate.ts";
import { fakeHolder } from "../src/testing.ts";
import { ground } from "./ground.ts";
import { type Edge, modelOf } from "./wire-provider.ts";

/** Unlike any other deadline of the runtime, so that its timers are known by it. */
const silenceMs = 3_331;

/** The real world, but for silence: it lasts until a test says so. */
export class WireEffects implements Effects {
  readonly #real = nodeEffects();
  #skipped = 0;
  #silences: (() => void)[] = [];
  readonly random = this.#real.random;
  readonly id = this.#real.id;
  readonly validate = validateJsonSchema;
  readonly clock = { now: this.#real.clock.now, monotonic: () => this.#real.clock.monotonic() + this.#skipped };
  readonly timers = {
    after: (ms: number, fn: () => void) => {
      // A silence timer is armed for what is left of it; nothing else of the runtime waits for so long and no longer.
      if (ms <= 2_000 || ms > silenceMs) return this.#real.timers.after(ms, fn);
      this.#silences.push(fn);
      return () => {
        this.#silences = this.#silences.filter((other) => other !== fn);
      };
    },
  };

  /** Lets the silence have lasted. */
  passSilence(): void {
    this.#skipped += silenceMs + 1;
    for (const fn of this.#silences.splice(0)) fn();
  }
}

export interface World {
  runtime: Runtime;
  effects: WireEffects;
  session: Session;
  agent: Agent;
  /** What tools were asked, in the order in which their bodies were entered. */
  entered: string[];
}

const path = { type: "object", properties: { path: { type: "string" } }, additionalProperties: true } as const;

export async function worldOf(
  server: ModelServer,
  protocol: Protocol,
  edge: Edge,
  changes: Partial<Agent> = {},
): Promise<World> {
  const effects = new WireEffects();
  const runtime: Runtime = { store: ground().open({ effects }), effects, holder: fakeHolder() };
  const entered: string[] = [];
  const tool = (name: string, effect: "read" | "write") =>
    defineTool({
      inputSchema: path,
      effect,
      execute: (input: unknown) => {
        entered.push(`${name} ${JSON.stringify(input)}`);
        return `${name} done`;
      },
    });
  const agent: Agent = {
    model: modelOf(server, protocol, edge),
    tools: { read: tool("read", "read"), write: tool("write", "write") },
    recovery: { backoff: { firstMs: 1, factor: 1, capMs: 1 } },
    watch: { firstMs: silenceMs, silenceMs, progressMs: 0, totalMs: 0 },
    ...changes,
  };
  return { runtime, effects, session: await createSession(runtime), agent, entered };
}

export function withModel(world: World, model: LanguageModelV4): World {
  return { ...world, agent: { ...world.agent, model } };
}

export type Heard = "reasoning" | "text" | "tool-call";

/** Runs one input; `onDelta` hears what a person would read, live. */
export async function run(
  { session, agent }: World,
  onDelta: (kind: Heard) => void = () => {},
): Promise<{ result: TurnResult; entries: LogEntry[] }> {
  const turn = session.run(agent, "Do it.");
  const kinds = new Map<string, string>();
  for await (const item of turn) {
    if (item.type === "part.started") kinds.set(item.part, item.kind);
    if (item.type === "part.delta") onDelta(kinds.get(item.part) as Heard);
  }
  return { result: await turn.result, entries: await session.entries() };
}

export function eventsOf<T extends LogEntry["event"]["type"]>(entries: readonly LogEntry[], type: T): EventOf<T>[] {
  return entries.map(({ event }) => event).filter((event): event is EventOf<T> => event.type === type);
}

/** What holds after every run, however it went. */
export function assertSound(server: ModelServer, result: TurnResult, entries: readonly LogEntry[]): void {
  for (const { law, violations } of verify(entries)) assert.deepEqual(violations, [], law);
  for (const { verdict } of server.requests) assert.deepEqual(verdict.violations, []);
  const { committed, discarded, open } = result.books;
  assert.equal(open, 0);
  assert.equal(committed.attempts + discarded.attempts, server.requests.length, "each request is one attempt");
  assert.equal(eventsOf(entries, "attempt.started").length, server.requests.length);
  const ids = eventsOf(entries, "attempt.ended").map(({ attempt }) => attempt);
  assert.equal(new Set(ids).size, server.requests.length, "each attempt has one end");
  const calls = eventsOf(entries, "message.committed").flatMap(({ parts }) =>
    parts.filter((part) => part.type === "tool-call"),
  );
  const settled = eventsOf(entries, "tool.settled").map(({ call }) => call);
  assert.deepEqual(settled.toSorted(), calls.map(({ id }) => id).toSorted(), "each call has one result");
}
