/**
 * The long life of one session, as a driver records it: turns of two steps with one tool call, about 350 bytes an event.
 *
 * What the rows about old sessions read. Legal by every law (a fixture is held to `verify` when it is made); ids and
 * texts differ throughout, since equal ones would be cheaper than real ones are.
 */
import type { LogEvent } from "../packages/core/src/log/event.ts";
import type { RequestHeader } from "../packages/core/src/log/value.ts";
import { argumentsOf, lookUp, promptText, said } from "./model.ts";

/** {@link turnOf} records so many. */
export const eventsPerTurn = 15;

const model = { provider: "bench", id: "scripted" };
const header: RequestHeader = { model, tools: [] };
const exposure = {
  ...{ reasoning: false, text: true, toolInput: true, calls: 1, readsEntered: 0 },
  ...{ providerWrite: false, serverState: false, clientState: false, terminal: true },
};

/** Without them a request would hold all of it, and its length would be what is measured. */
const turnsPerCompaction = 40;

/** As many whole turns as make up so many events, or a few more. Compacted between turns, as long sessions are. */
export function* historyOf(events: number): Generator<LogEvent, void> {
  yield { type: "session.created", title: "A long life", cwd: "/work" };
  for (let [seq, turn] = [1, 0]; seq < events; turn += 1) {
    yield* turnOf(turn);
    seq += eventsPerTurn;
    if (turn % turnsPerCompaction !== turnsPerCompaction - 1) continue;
    const summary = [{ type: "text" as const, text: `What the first ${turn + 1} turns have found. ${said}` }];
    yield { type: "context.compacted", upTo: seq, by: "drop", summary, tokensBefore: 20_000, tokensAfter: 100 };
    seq += 1;
  }
}

function* turnOf(n: number): Generator<LogEvent, void> {
  const name = n.toString().padStart(20, "0");
  const [turn, input, first, second] = [`t_${name}`, `in_${name}`, `st_${name}a`, `st_${name}b`];
  const [asked, answered] = [`a_${name}a`, `a_${name}b`];
  const call = `${asked}-2`;
  const args = argumentsOf(n);
  const result = lookUp(JSON.parse(args) as { path: string });
  yield { type: "input.accepted", input, kind: "prompt", content: [{ type: "text", text: promptText }] };
  yield { type: "turn.started", turn, inputs: [input] };
  yield { type: "step.started", step: first, turn, number: 1, ...(n === 0 ? { header } : {}) };
  yield* attemptOf(asked, first, [
    { type: "text", id: `${asked}-1`, text: `${n}: ${said}` },
    { type: "tool-call", id: call, providerId: `call_${n}`, tool: "look", input: args },
  ]);
  yield { type: "tool.entered", call, tool: "look", digest: name.repeat(3), effect: "write", key: call };
  const output = { content: [{ type: "text" as const, text: result }], isError: false };
  yield { type: "tool.settled", call, output, by: "tool", durationMs: 3 };
  yield { type: "step.ended", step: first };
  yield { type: "step.started", step: second, turn, number: 2 };
  yield* attemptOf(answered, second, [{ type: "text", id: `${answered}-1`, text: `Done with ${n}. ${said}` }]);
  yield { type: "step.ended", step: second };
  yield { type: "turn.ended", turn, outcome: { type: "completed" } };
}

type Message = Extract<LogEvent, { type: "message.committed" }>;

function* attemptOf(attempt: string, step: string, parts: Message["parts"]): Generator<LogEvent, void> {
  yield { type: "attempt.started", attempt, step, number: 1, purpose: "step", model };
  const usage = { measure: "reported" as const, input: 1_000, output: 80, cacheRead: 900 };
  yield { type: "attempt.ended", attempt, end: "committed", exposure, usage, firstPartMs: 310, durationMs: 1_204 };
  yield { type: "message.committed", attempt, parts, finish: { reason: "stop", raw: "stop" }, model };
}
