/** Random sessions as a driver would record them, with everything a context has to bear, and what damage makes of them. */
import type { Issued, Protocol } from "@pawl/model-server";
import fc, { type Arbitrary } from "fast-check";
import type { LogEntry } from "../src/log/envelope.ts";
import type { EventOf, LogEvent, MessagePart, ProviderMeta } from "../src/log/event.ts";
import type { ModelRef } from "../src/log/value.ts";
import { modelRefOf, reasoning } from "./context-request.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  input,
  logOf,
  settled,
  turnEnded,
} from "./log-builder.ts";

/** What a session is made of, in numbers and words; `sessionOf` gives the ids. */
interface PlannedPart {
  kind: "text" | "reasoning" | "call" | "executed" | "unanswered" | "source" | "blank-item";
  words: string;
}
type PlannedStep = { parts: PlannedPart[]; by: number; fails: boolean; settle: number[] };
type PlannedChange = { kind: "summary" | "drop" | "prune" | "strip" | "aside" | "none"; back: number; words: string };
export type Plan = { input: string; steps: PlannedStep[]; change: PlannedChange; interrupted: boolean }[];

const words = fc.constantFrom(
  "words",
  "",
  " ",
  "\n\n",
  " padded \n",
  "half \ud83d",
  "long ".repeat(30),
  "\ud83d\ude00",
);
const calls = fc.constantFrom("{}", "", '{"a":1}', '{"a":', "null", "[]", '{"a":"\\ud83d"}');
const part: Arbitrary<PlannedPart> = fc.oneof(
  fc.record({ kind: fc.constantFrom("text", "reasoning", "source", "blank-item"), words }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("call"), words: calls }) },
  fc.record({ kind: fc.constantFrom("executed", "unanswered"), words: fc.constant("{}") }),
) as Arbitrary<PlannedPart>;
const step: Arbitrary<PlannedStep> = fc.record({
  parts: fc.array(part, { maxLength: 5 }),
  by: fc.nat(3),
  fails: fc.boolean(),
  settle: fc.array(fc.nat(4), { maxLength: 6 }),
});
const change: Arbitrary<PlannedChange> = fc.record({
  kind: fc.constantFrom("summary", "drop", "prune", "strip", "aside", "none", "none", "none"),
  back: fc.nat(30),
  words,
});
export const plan: Arbitrary<Plan> = fc.array(
  fc.record({ input: words, steps: fc.array(step, { maxLength: 3 }), change, interrupted: fc.boolean() }),
  { minLength: 1, maxLength: 5 },
);

/** A session of a protocol's model, its dated name, and a foreign one. Signatures are those that `issued` knows. */
export class SessionPlan {
  readonly #home: ModelRef;
  readonly #models: ModelRef[];
  readonly protocol: Protocol;
  readonly issued: Issued;
  readonly name: string;

  constructor(protocol: Protocol, issued: Issued, name = "a") {
    this.protocol = protocol;
    this.issued = issued;
    this.name = name;
    this.#home = modelRefOf(protocol);
    const { provider, id } = this.#home;
    this.#models = [this.#home, this.#home, { provider, id: `${id}-2025-08-07` }, { provider: "other", id }];
  }

  /** `whole`: as a driver records it, where every call has its result before the next request. */
  eventsOf(turns: Plan, whole: boolean): LogEvent[] {
    const events: LogEvent[] = [];
    let attempt = 0;
    for (const [index, turn] of turns.entries()) {
      const id = `${this.name}t${index}`;
      events.push(input(`in${this.name}${index}`, turn.input), { type: "turn.started", turn: id, inputs: [] });
      for (const { parts, by, fails, settle } of turn.steps) {
        attempt += 1;
        const model = this.#models[by] ?? this.#home;
        const name = `${this.name}${attempt}`;
        const made = parts.flatMap((each, at) => this.#partsOf(each, `${name}-${at}`, model));
        events.push(attemptStarted(name, "st"));
        if (fails) {
          events.push(attemptEnded(name, { end: "failed", fragment: made }));
          continue;
        }
        events.push(attemptEnded(name), { ...committed(name, ...made), model } as LogEvent);
        const own = made.filter((each) => each.type === "tool-call" && !each.providerExecuted).map((each) => each.id);
        const order = whole ? own : settle.flatMap((at) => own[at] ?? []);
        for (const call of order) events.push(entered(call), settled(call, "result ".repeat(20)));
      }
      events.push(...this.#changeOf(turn.change, events.length, `${this.name}x${index}`));
      if (!turn.interrupted) events.push(turnEnded(id));
    }
    return events;
  }

  #partsOf({ kind, words }: PlannedPart, id: string, model: ModelRef): MessagePart[] {
    const mine = model.provider === this.#home.provider;
    const meta = (prefix: string): { meta?: ProviderMeta } =>
      this.protocol === "responses" ? { meta: { openai: { itemId: `${prefix}_${id}` } } } : {};
    switch (kind) {
      case "text":
        return [{ type: "text", id, text: words, ...meta("msg") }];
      case "blank-item":
        return [{ type: "text", id, text: " ", ...meta("msg") }];
      case "reasoning":
        return [
          reasoning(id, words, mine ? this.#proofOf(id, words) : { [this.#namespace()]: { signature: "foreign" } }),
        ];
      case "call":
        return [callPart(id, `call_${id.length % 2}`, { input: words, ...meta("fc") })];
      case "source":
        return [{ type: "source", id, source: {} }];
      case "executed":
      case "unanswered": {
        // A chat endpoint runs no tools of its own.
        if (this.protocol === "chat") return [];
        const call = callPart(id, `srv_${id}`, { tool: "web_search", providerExecuted: true, ...meta("ws") });
        const rest = { id: `${id}r`, call: id, tool: "web_search", result: [] };
        return kind === "executed" ? [call, { type: "tool-result", ...rest }] : [call];
      }
    }
  }

  #namespace(): string {
    return this.protocol === "responses" ? "openai" : this.protocol;
  }

  #proofOf(id: string, words: string): ProviderMeta | undefined {
    const itemId = `rs_${id}`;
    switch (this.protocol) {
      case "anthropic":
        return { anthropic: { signature: this.issued.sign(words) } };
      case "responses":
        return { openai: { itemId, reasoningEncryptedContent: this.issued.seal(itemId, words) } };
      case "chat":
        return undefined;
    }
  }

  #changeOf({ kind, back, words }: PlannedChange, length: number, attempt: string): LogEvent[] {
    const upTo = Math.max(0, length - back);
    const summary = [{ type: "text" as const, text: words }];
    switch (kind) {
      case "summary":
      case "drop":
        return [{ type: "context.compacted", upTo, by: kind, summary }];
      case "prune":
        return [{ type: "context.compacted", upTo, by: kind, summary: [], resultChars: back }];
      case "strip":
        return [{ type: "provider-state.stripped", provider: this.#home.provider, reason: "refused" }];
      case "aside":
        return [
          { ...attemptStarted(attempt, "st"), purpose: "title" } as EventOf<"attempt.started">,
          { ...committed(attempt, callPart(`${attempt}-1`)), model: this.#home } as LogEvent,
        ];
      case "none":
        return [];
    }
  }
}

export type Damage = { kind: "cut" | "delete" | "double" | "swap"; at: number; to: number };
export const damage: Arbitrary<Damage[]> = fc.array(
  fc.record({ kind: fc.constantFrom("cut", "delete", "double", "swap"), at: fc.nat(99), to: fc.nat(99) }),
  { maxLength: 6 },
);

/** `renumbered`: the damage is in what was recorded, not in the order of its numbers. */
export function damaged(events: readonly LogEvent[], damages: readonly Damage[], renumbered: boolean): LogEntry[] {
  const entries = logOf(events);
  for (const { kind, at, to } of damages) {
    const [from, target] = [at % (entries.length || 1), to % (entries.length || 1)];
    if (kind === "cut") entries.splice(from > entries.length / 2 ? from : entries.length);
    else if (kind === "delete") entries.splice(from, 1);
    else if (kind === "double") entries.splice(target, 0, ...entries.slice(from, from + 1));
    else entries.splice(target, 0, ...entries.splice(from, 1));
  }
  return renumbered ? entries.map((entry, index) => ({ ...entry, seq: index + 1 })) : entries;
}
