/** Whatever the log: the request is valid, by the endpoints' own rules, and begins with the one before. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Issued, type Protocol } from "@pawl/model-server";
import fc from "fast-check";
import { boundaries, promptUpTo, sizeOf } from "../src/context/compaction.ts";
import { pairing, stablePrefix, unpaired } from "../src/context/laws.ts";
import { contextFold, promptOf } from "../src/context/projection.ts";
import type { Target } from "../src/context/target.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { LogEvent } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { messageChars, tokensOf } from "../src/log/size.ts";
import type { ReasoningReplay } from "../src/log/value.ts";
import { verifyWith } from "../src/log/verify.ts";
import { damage, damaged, plan, SessionPlan } from "./context-log.ts";
import { modelRefOf, refusals, targetFor } from "./context-request.ts";
import { logOf, stepStarted } from "./log-builder.ts";

const policy = fc.constantFrom<(ReasoningReplay | undefined)[]>(undefined, "send", "turn", "drop");
const protocols: Protocol[] = ["anthropic", "responses", "chat"];

/** The recorded changes that let a request differ from the one before. */
function isChange({ event }: LogEntry, target: Target): boolean {
  if (event.type === "turn.started") return target.reasoning === "turn";
  return event.type === "context.compacted" || event.type === "provider-state.stripped";
}

describe("context on the wire", () => {
  for (const protocol of protocols) {
    test(`R40 R41 R45 R49: whatever has become of a log, ${protocol} takes the request`, async () => {
      const issued = new Issued();
      const sessions = [new SessionPlan(protocol, issued, "a"), new SessionPlan(protocol, issued, "b")] as const;
      const stateless = { providerOptions: { openai: { store: false } } };
      await fc.assert(
        fc.asyncProperty(
          plan,
          plan,
          damage,
          policy,
          fc.boolean(),
          async (one, other, damages, reasoning, renumbered) => {
            // A fork: the entries of two sessions in one line.
            const events = [...sessions[0].eventsOf(one, false), ...sessions[1].eventsOf(other, false)];
            const state = runFold(
              contextFold(targetFor(modelRefOf(protocol), reasoning)),
              damaged(events, damages, renumbered),
            );
            const prompts = [
              promptOf(state, "Be brief."),
              ...boundaries(state)
                .slice(-1)
                .map(({ seq }) => promptUpTo(state, undefined, seq)),
            ];
            for (const prompt of prompts) {
              assert.deepEqual(unpaired(prompt), []);
              if (prompt.every(({ role }) => role === "system")) continue;
              assert.deepEqual(await refusals(protocol, prompt, { issued, ...stateless }), []);
              if (protocol === "responses") assert.deepEqual(await refusals(protocol, prompt), [], "with stored items");
            }
          },
        ),
        { numRuns: 400 },
      );
    });

    test(`L10: a request to ${protocol} begins with the one before, but for recorded changes`, () => {
      const session = new SessionPlan(protocol, new Issued());
      fc.assert(
        fc.property(plan, policy, (turns, reasoning) => {
          const target = targetFor(modelRefOf(protocol), reasoning);
          const entries = logOf(session.eventsOf(turns, true));
          const fold = contextFold(target);
          let state = fold.init();
          let before: string[] = [];
          for (const entry of entries) {
            state = fold.step(state, entry);
            if (isChange(entry, target)) before = [];
            const { event } = entry;
            if (event.type !== "attempt.started" || event.purpose !== "step") continue;
            const sent = promptOf(state, "Be brief.").map((message) => JSON.stringify(message));
            assert.deepEqual(sent.slice(0, before.length), before);
            before = sent;
          }
          const header = { model: modelRefOf(protocol), tools: [], ...(reasoning ? { reasoning } : {}) };
          const named = [{ ...stepStarted("st", "t", 1), header } as LogEvent, ...entries.map(({ event }) => event)];
          const verdicts = verifyWith([pairing, stablePrefix], logOf(named));
          assert.deepEqual(
            verdicts.flatMap(({ violations }) => violations),
            [],
          );
        }),
        { numRuns: 100 },
      );
    });
  }

  test("a context loaded from the last cut on is the whole one, given what was refused before", () => {
    const session = new SessionPlan("anthropic", new Issued());
    fc.assert(
      fc.property(plan, policy, fc.boolean(), (turns, reasoning, whole) => {
        const entries = logOf(session.eventsOf(turns, whole));
        const cut = entries.findLast(({ event }) => event.type === "context.compacted" && event.by !== "prune")?.event;
        fc.pre(cut?.type === "context.compacted");
        const fold = contextFold(targetFor(modelRefOf("anthropic"), reasoning));
        const later = entries.filter(({ seq, event }) => seq > cut.upTo || event.type === "provider-state.stripped");
        const all = runFold(fold, entries);
        const loaded = runFold(fold, later);
        assert.deepEqual(promptOf(loaded, undefined), promptOf(all, undefined));
        assert.deepEqual(boundaries(loaded), boundaries(all));
      }),
      { numRuns: 150 },
    );
  });

  test("sizes and boundaries fit the request, at every entry", () => {
    const session = new SessionPlan("anthropic", new Issued());
    fc.assert(
      fc.property(plan, policy, fc.boolean(), (turns, reasoning, whole) => {
        const fold = contextFold(targetFor(modelRefOf("anthropic"), reasoning));
        let state = fold.init();
        for (const entry of logOf(session.eventsOf(turns, whole))) {
          state = fold.step(state, entry);
          const prompt = promptOf(state, undefined);
          assert.equal(sizeOf(state), tokensOf(prompt.reduce((sum, message) => sum + messageChars(message), 0)));
          let last = 0;
          for (const { seq, tokens } of boundaries(state)) {
            const part = promptUpTo(state, undefined, seq);
            assert.deepEqual(part, prompt.slice(0, part.length));
            assert.deepEqual(unpaired(part), []);
            assert.ok(seq > last && seq <= entry.seq && tokens <= sizeOf(state));
            last = seq;
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});
