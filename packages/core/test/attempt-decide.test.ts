/** The recovery table, cell by cell: the expectations are written out, not computed from the code under test. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { Assembler } from "../src/attempt/assemble.ts";
import { decide, type Moment, type Spent } from "../src/attempt/decide.ts";
import { advancesServer, exposureRow, noExposure } from "../src/attempt/exposure.ts";
import { failureOf } from "../src/attempt/failure.ts";
import { backoffMs, defaultPolicy, type Preset, policyOf } from "../src/attempt/policy.ts";
import { verdict } from "../src/attempt/verdict.ts";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import type { Decision, Detector, Exposure, Failure, FailureKind } from "../src/log/value.ts";
import { call, finish, say, think } from "../src/testing.ts";

const fresh: Spent = { attemptsOfStep: 1, attemptsOfTurn: 1, sealsOfStep: 0, compactionsOfStep: 0, stripped: false };
const now: Moment = { now: 1_000_000, jitter: 0.5 };

/** Every exposure that belongs to a row: mixtures too, and facts that must not matter. */
const exposures: Record<string, Partial<Exposure>[]> = {
  nothing: [{}],
  "nothing, signed": [{ clientState: true }],
  reasoning: [{ reasoning: true }],
  "reasoning, signed": [{ reasoning: true, clientState: true }],
  output: [
    { text: true },
    { toolInput: true },
    { calls: 2 },
    { text: true, toolInput: true, calls: 1, clientState: true },
    { reasoning: true, text: true },
    { reasoning: true, calls: 1 },
  ],
  "reads entered": [{ readsEntered: 1 }, { readsEntered: 2, calls: 3, text: true, reasoning: true, clientState: true }],
  irrevocable: [
    { providerWrite: true },
    { serverState: true },
    { providerWrite: true, readsEntered: 1, text: true },
    { serverState: true, reasoning: true, clientState: true },
  ],
};

type Cells = [string, string, string];

/** default, replace, preserve: what happens to a failure that is worth another try. */
const retryable: Record<string, Cells> = {
  nothing: ["retry", "retry", "retry"],
  "nothing, signed": ["retry", "retry", "stop"],
  reasoning: ["seal", "discard", "seal"],
  "reasoning, signed": ["seal", "discard", "stop"],
  output: ["discard", "discard", "stop"],
  "reads entered": ["discard", "stop", "stop"],
  irrevocable: ["stop", "stop", "stop"],
};
const never: Record<string, Cells> = {
  nothing: ["stop", "stop", "stop"],
  "nothing, signed": ["stop", "stop", "stop"],
  reasoning: ["stop", "stop", "stop"],
  "reasoning, signed": ["stop", "stop", "stop"],
  output: ["stop", "stop", "stop"],
  "reads entered": ["stop", "stop", "stop"],
  irrevocable: ["stop", "stop", "stop"],
};
const compact: Record<string, Cells> = {
  nothing: ["compact", "compact", "compact"],
  "nothing, signed": ["compact", "compact", "compact"],
  reasoning: ["compact", "compact", "compact"],
  "reasoning, signed": ["compact", "compact", "compact"],
  output: ["compact", "compact", "compact"],
  "reads entered": ["stop", "stop", "stop"],
  irrevocable: ["stop", "stop", "stop"],
};
const strip: Record<string, Cells> = {
  nothing: ["strip", "strip", "strip"],
  "nothing, signed": ["strip", "strip", "strip"],
  reasoning: ["strip", "strip", "strip"],
  "reasoning, signed": ["strip", "strip", "strip"],
  output: ["strip", "strip", "strip"],
  "reads entered": ["stop", "stop", "stop"],
  irrevocable: ["stop", "stop", "stop"],
};
const table: Record<FailureKind, Record<string, Cells>> = {
  connect: retryable,
  "stream-broken": retryable,
  "rate-limited": retryable,
  overloaded: retryable,
  server: retryable,
  empty: retryable,
  overflow: compact,
  quota: never,
  auth: never,
  rejected: never,
  "provider-state": strip,
  filtered: never,
  aborted: never,
  "tool-runtime": never,
  store: never,
  unknown: never,
};
const presets: Preset[] = ["default", "replace", "preserve"];

function actionAt(
  kind: FailureKind,
  exposure: Partial<Exposure>,
  preset: Preset,
  changes: Partial<Failure> = {},
): string {
  const failure = { ...failureOf(kind, "x"), ...changes };
  return decide({ ...noExposure(), ...exposure }, failure, policyOf({ preset }), fresh, now).action;
}

describe("the recovery table", () => {
  for (const [kind, rows] of Object.entries(table) as [FailureKind, Record<string, Cells>][]) {
    it(`L5: ${kind}, every exposure and preset`, () => {
      for (const [row, cells] of Object.entries(rows)) {
        for (const exposure of exposures[row] ?? []) {
          const found = presets.map((preset) => actionAt(kind, exposure, preset));
          assert.deepEqual(found, cells, `${kind} with ${row}: ${JSON.stringify(exposure)}`);
        }
      }
    });
  }

  it("L5: a terminal frame that was seen changes no row: what was let out decides", () => {
    for (const [row, cells] of Object.entries(retryable)) {
      const exposure = { ...exposures[row]?.[0], terminal: true };
      assert.deepEqual(
        presets.map((preset) => actionAt("empty", exposure, preset)),
        cells,
      );
    }
  });

  it("L5: failures that differ only in who noticed get the same decision", () => {
    const detectors: (Detector | undefined)[] = [
      "socket",
      "watchdog",
      "error-part",
      "end-of-stream",
      "status",
      "terminal-frame",
      "runtime",
      undefined,
    ];
    const flag = fc.boolean();
    const exposure = fc.record({
      reasoning: flag,
      text: flag,
      toolInput: flag,
      calls: fc.nat(3),
      readsEntered: fc.nat(2),
      providerWrite: flag,
      serverState: flag,
      clientState: flag,
      terminal: flag,
    });
    const kinds = fc.constantFrom(...(Object.keys(table) as FailureKind[]));
    const spent = fc.record({
      attemptsOfStep: fc.integer({ min: 1, max: 8 }),
      attemptsOfTurn: fc.integer({ min: 1, max: 400 }),
      sealsOfStep: fc.nat(3),
      compactionsOfStep: fc.nat(1),
      stripped: flag,
    });
    fc.assert(
      fc.property(
        exposure,
        kinds,
        fc.constantFrom(...presets),
        spent,
        fc.boolean(),
        (let_out, kind, preset, used, word) => {
          const decisions = detectors.map((detector): Decision => {
            const { detector: _, ...plain } = failureOf(kind, "x");
            const failure = { ...plain, retryable: word || plain.retryable, ...(detector ? { detector } : {}) };
            return decide(let_out, failure, policyOf({ preset }), used, now);
          });
          for (const decision of decisions) assert.deepEqual(decision, decisions[0]);
        },
      ),
    );
  });
});

describe("policy is data", () => {
  it("a kind may be made retryable, or final", () => {
    const retryAuth = policyOf({ retry: { auth: "retry" } });
    assert.equal(decide(noExposure(), failureOf("auth", "x"), retryAuth, fresh, now).action, "retry");
    const never = policyOf({ retry: { overloaded: "stop", overflow: "stop", "provider-state": "stop" } });
    for (const kind of ["overloaded", "overflow", "provider-state"] as const) {
      assert.equal(decide(noExposure(), failureOf(kind, "x"), never, fresh, now).action, "stop");
    }
  });

  it("no override moves an abort, a failure of the step, a transport's no, or a row that says stop", () => {
    const all = Object.fromEntries(Object.keys(table).map((kind) => [kind, "retry" as const]));
    const policy = policyOf({ retry: all });
    for (const kind of ["aborted", "tool-runtime", "store"] as const) {
      assert.equal(decide(noExposure(), failureOf(kind, "x"), policy, fresh, now).action, "stop");
    }
    const refused: Failure = { ...failureOf("connect", "x"), retryable: false, said: "stop" };
    assert.equal(decide(noExposure(), refused, policy, fresh, now).action, "stop");
    const written = { ...noExposure(), providerWrite: true };
    for (const kind of Object.keys(table) as FailureKind[]) {
      assert.equal(decide(written, failureOf(kind, "x"), policy, fresh, now).action, "stop", kind);
    }
  });

  it("a transport's yes helps the retryable cell, not the row", () => {
    assert.equal(actionAt("unknown", { text: true }, "default", { retryable: true, said: "retry" }), "discard");
    assert.equal(actionAt("unknown", { providerWrite: true }, "default", { retryable: true, said: "retry" }), "stop");
  });

  it("a figure that bounds nothing is refused, by name and value", () => {
    for (const changes of [
      { attemptsPerStep: Number.NaN },
      { attemptsPerTurn: Number.POSITIVE_INFINITY },
      { retryAfterCapMs: limit.timerMs + 1 },
      { backoff: { firstMs: -1, factor: 2, capMs: 10 } },
      { sealsPerStep: -1 },
    ]) {
      assert.throws(
        () => policyOf(changes),
        (error) => isPawlError(error, "INVALID_INPUT"),
      );
    }
  });
});

describe("budgets", () => {
  const broken = failureOf("stream-broken", "x");
  const at = (
    spent: Partial<Spent>,
    exposure: Partial<Exposure> = {},
    failure: Failure = broken,
    changes = {},
  ): Decision => decide({ ...noExposure(), ...exposure }, failure, policyOf(changes), { ...fresh, ...spent }, now);

  it("L6: attempts of a step and of a turn end", () => {
    assert.equal(at({ attemptsOfStep: limit.attemptsPerStep - 1 }).action, "retry");
    assert.equal(at({ attemptsOfStep: limit.attemptsPerStep }).action, "stop");
    assert.equal(at({ attemptsOfTurn: limit.attemptsPerTurn - 1 }).action, "retry");
    assert.equal(at({ attemptsOfTurn: limit.attemptsPerTurn }).action, "stop");
    assert.ok(limit.attemptsPerTurn > limit.stepsPerTurn, "a long turn must not lose its recovery to its length");
  });

  it("L6: at most two sealed fragments a step; a third break stops", () => {
    const reasoning = { reasoning: true };
    assert.equal(at({ sealsOfStep: 1, attemptsOfStep: 2 }, reasoning).action, "seal");
    assert.equal(at({ sealsOfStep: 2, attemptsOfStep: 3 }, reasoning).action, "stop");
    assert.equal(at({ sealsOfStep: 2, attemptsOfStep: 3 }, { text: true }).action, "discard");
  });

  it("L6: one compaction and one strip a step, and none beyond the turn's attempts", () => {
    for (const [kind, spent] of [
      ["overflow", { compactionsOfStep: 1 }],
      ["provider-state", { stripped: true }],
      ["overflow", { attemptsOfTurn: limit.attemptsPerTurn }],
      ["provider-state", { attemptsOfTurn: limit.attemptsPerTurn }],
    ] as const) {
      assert.equal(at(spent, {}, failureOf(kind, "x")).action, "stop");
    }
  });

  it("L6: time and money end a turn with the budget's name", () => {
    const time = at({ elapsedMsOfTurn: 9_000 }, {}, broken, { elapsedMsPerTurn: 9_100 });
    assert.deepEqual([time.action, time.limit], ["stop", "time"]);
    assert.equal(at({ elapsedMsOfTurn: 1_000 }, {}, broken, { elapsedMsPerTurn: 9_000 }).action, "retry");
    const money = at({ costOfTurn: 5 }, {}, broken, { costPerTurn: 5 });
    assert.deepEqual([money.action, money.limit], ["stop", "cost"]);
    assert.equal(at({ costOfTurn: 4.99 }, {}, broken, { costPerTurn: 5 }).action, "retry");
  });

  it("R13: above the cap neither sleep nor fire early: stop, with the moment", () => {
    for (const seconds of [86_400, 2_200_000, 9_999_999_999]) {
      const decision = at({}, {}, { ...failureOf("rate-limited", "x"), retryAfterMs: seconds * 1000 });
      assert.deepEqual([decision.action, decision.delayMs, decision.until], ["stop", 0, now.now + seconds * 1000]);
    }
    const late = at({ attemptsOfStep: 99 }, {}, { ...failureOf("overloaded", "x"), retryAfterMs: 3_600_000 });
    assert.equal(late.until, now.now + 3_600_000, "the moment is worth more than the count");
  });

  it("R12: a header lengthens our own backoff and never shortens it", () => {
    const own = at({}).delayMs;
    assert.equal(at({}, {}, { ...broken, retryAfterMs: 1 }).delayMs, own);
    assert.equal(at({}, {}, { ...broken, retryAfterMs: 0 }).delayMs, own);
    assert.equal(at({}, {}, { ...broken, retryAfterMs: 45_000 }).delayMs, 45_000);
    assert.equal(at({}, {}, { ...broken, retryAfterMs: 60_000 }).delayMs, 60_000);
    assert.equal(at({}, {}, { ...broken, retryAfterMs: 60_001 }).action, "stop");
  });

  it("R13: no wait is longer than the cap, none is negative, whatever the number and the jitter", () => {
    const backoff = fc.record({
      firstMs: fc.integer({ min: 0, max: limit.timerMs }),
      factor: fc.double({ min: 0, max: 1_000, noNaN: true }),
      capMs: fc.integer({ min: 0, max: limit.timerMs }),
    });
    const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 100_000 }), jitter, (given, number, chance) => {
        const wait = backoffMs(given, number, chance);
        assert.ok(wait >= 0 && wait <= given.capMs && Number.isSafeInteger(wait), `${wait}`);
      }),
    );
    const { backoff: standard } = defaultPolicy;
    assert.deepEqual(
      [1, 2, 3, 8, 50].map((number) => backoffMs(standard, number, 0)),
      [250, 500, 1_000, 15_000, 15_000],
    );
    assert.equal(backoffMs(standard, 50, 0.999999), 30_000);
  });
});

describe("what a person is told of a decision", () => {
  const told = (
    kind: FailureKind,
    exposure: Partial<Exposure> = {},
    preset: Preset = "default",
    { spent = {}, ...changes }: { spent?: Partial<Spent>; said?: "stop"; retryAfterMs?: number } = {},
  ): string => {
    const failure = { ...failureOf(kind, "x"), ...changes };
    const policy = policyOf({ preset, elapsedMsPerTurn: 90_000, costPerTurn: 5 });
    return decide({ ...noExposure(), ...exposure }, failure, policy, { ...fresh, ...spent }, now).reason;
  };

  it("another request: what was let out, and what becomes of it", () => {
    assert.equal(told("server"), "nothing was let out: the request is made anew");
    assert.equal(
      told("server", { reasoning: true }),
      "only reasoning was let out: it is kept as a fragment, the request is made anew",
    );
    assert.equal(
      told("server", { text: true }),
      "nothing was committed: what was let out is retracted, the request is made anew",
    );
    assert.equal(told("overflow"), "the request is too large: compact once, then retry");
    assert.equal(told("provider-state"), "the provider refuses replayed state: send without it, once");
  });

  it("no other request: the kind, or the row and the policy that stopped it", () => {
    assert.equal(told("auth"), "auth is not retryable");
    for (const kind of ["overflow", "provider-state"] as const) {
      assert.equal(told(kind, {}, "default", { said: "stop" }), `${kind} is not retryable`, "a transport's no binds");
    }
    const signed = "signed state was let out, and the policy `preserve` keeps it";
    assert.equal(told("server", { clientState: true }, "preserve"), signed);
    assert.equal(told("server", { reasoning: true, clientState: true }, "preserve"), signed);
    assert.equal(told("server", { text: true }, "preserve"), "output was let out, and the policy `preserve` keeps it");
    assert.equal(
      told("server", { readsEntered: 1 }, "replace"),
      "a tool was entered, and the policy `replace` never retries then",
    );
    assert.equal(
      told("server", { serverState: true }),
      "the provider may have changed the world: the outcome is unknown",
    );
  });

  it("no other request: the budget that is used up, with its figure", () => {
    const spentTold = (spent: Partial<Spent>, kind: FailureKind = "server", exposure: Partial<Exposure> = {}) =>
      told(kind, exposure, "default", { spent });
    const turn = limit.attemptsPerTurn;
    assert.equal(spentTold({ attemptsOfStep: limit.attemptsPerStep }), "6 attempts of this step failed");
    const empties = limit.emptiesPerStep;
    assert.equal(spentTold({ emptiesOfStep: empties }, "empty"), `the model answered nothing ${empties} times`);
    assert.equal(spentTold({ emptiesOfStep: empties - 1 }, "empty"), "nothing was let out: the request is made anew");
    assert.equal(spentTold({ attemptsOfTurn: turn }), `${turn} attempts of this turn are used up`);
    assert.equal(spentTold({ attemptsOfTurn: turn }, "overflow"), `${turn} attempts of this turn are used up`);
    assert.equal(
      spentTold({ sealsOfStep: 2 }, "server", { reasoning: true }),
      "the model's reasoning broke off 3 times in this step",
    );
    assert.equal(spentTold({ elapsedMsOfTurn: 90_000 }), "the 90 s of this turn are used up");
    assert.equal(spentTold({ costOfTurn: 5.5 }), "this turn has cost 5.5, of 5 allowed");
    assert.equal(
      spentTold({ compactionsOfStep: 1 }, "overflow"),
      "the request is too large, and was already compacted once",
    );
    assert.equal(
      spentTold({ stripped: true }, "provider-state"),
      "the provider refuses the request even without replayed state",
    );
    assert.equal(
      told("rate-limited", {}, "default", { retryAfterMs: 3_600_001 }),
      "the provider asks for 3601 s of patience",
    );
  });

  it("L6: a turn may use its time up to the last millisecond, the wait before the next request included", () => {
    const wait = decide(noExposure(), failureOf("server", "x"), policyOf(), fresh, now).delayMs;
    const at = (elapsedMsOfTurn: number) =>
      decide(
        noExposure(),
        failureOf("server", "x"),
        policyOf({ elapsedMsPerTurn: 9_000 }),
        { ...fresh, elapsedMsOfTurn },
        now,
      );
    assert.equal(at(9_000 - wait).action, "retry");
    assert.equal(at(9_000 - wait + 1).limit, "time");
  });

  it("a decision carries its moment, and a mended request goes out at once", () => {
    for (const kind of ["server", "overflow", "provider-state", "auth"] as const) {
      const decision = decide(noExposure(), failureOf(kind, "x"), policyOf(), fresh, now);
      assert.equal(decision.at, now.now, kind);
      assert.equal(decision.delayMs > 0, kind === "server", kind);
    }
  });

  it("R13: the moment a provider names is a whole millisecond, never before the one it asked for", () => {
    const failure = { ...failureOf("rate-limited", "x"), retryAfterMs: 3_600_000.25 };
    assert.equal(decide(noExposure(), failure, policyOf(), fresh, now).until, now.now + 3_600_001);
  });
});

describe("exposure", () => {
  it("begins with nothing let out", () => {
    assert.deepEqual([...new Set(Object.values(noExposure()))], [false, 0]);
    assert.equal(exposureRow(noExposure()), "nothing");
  });

  it("a request that appends to a conversation, or that lives without its connection, moves the server on", () => {
    for (const [options, moves] of [
      [undefined, false],
      [{}, false],
      [{ openai: undefined }, false],
      [{ openai: null }, false],
      [{ openai: { store: true } }, false],
      [{ openai: { conversation: null } }, false],
      [{ openai: { background: false } }, false],
      [{ openai: { background: "yes" } }, false],
      [{ openai: { conversation: "conv_1" } }, true],
      [{ openai: { background: true } }, true],
      [{ anthropic: {}, openai: { background: true } }, true],
    ] as const) {
      assert.equal(advancesServer(options), moves, JSON.stringify(options));
    }
  });
});

describe("how a stream ended", () => {
  const ended = (...parts: (LanguageModelV4StreamPart | LanguageModelV4StreamPart[])[]): Partial<Failure> => {
    const assembler = new Assembler("a_1", { started: () => {}, delta: () => {}, ended: () => {} });
    for (const part of parts.flat()) assembler.push(part);
    assembler.seal();
    const { kind, message, detector } = verdict(assembler, { now: 0 }) ?? { kind: undefined };
    return { ...(kind ? { kind } : {}), ...(message ? { message } : {}), ...(detector ? { detector } : {}) };
  };
  const reason = (unified: string, raw?: string): LanguageModelV4StreamPart => ({
    ...(finish() as object as Extract<LanguageModelV4StreamPart, { type: "finish" }>),
    finishReason: { unified: unified as never, raw },
  });
  const detector = "end-of-stream";

  it("without a finish, or with one that is none, it is broken where anything came, and empty where nothing did", () => {
    const empty = { kind: "empty", message: "the stream ended without any output", detector };
    assert.deepEqual(ended(), empty);
    const cut = { kind: "stream-broken", message: "the stream ended without a finish", detector };
    assert.deepEqual(ended(say("half")), cut);
    const early = { kind: "stream-broken", message: "the stream ended before its finish", detector };
    assert.deepEqual(ended(say("half"), reason("error")), early);
    assert.deepEqual(ended(reason("error")), early, "what was paid for was no silence");
  });

  it("a finish is good where it delivers something, and says what is missing where it does not", () => {
    const frame = "terminal-frame";
    const filter = (raw: string) => ({
      kind: "filtered",
      message: `the provider's filter ended the answer: ${raw}`,
      detector: frame,
    });
    for (const end of ["stop", "tool-calls", "length"]) assert.deepEqual(ended(say("words"), reason(end)), {}, end);
    assert.deepEqual(ended(call("act", {}), reason("tool-calls")), {});
    for (const end of ["stop", "tool-calls"]) {
      const nothing = { kind: "empty", message: "the answer has no text and no tool call", detector: frame };
      assert.deepEqual(ended(think("hm"), reason(end)), nothing, end);
    }
    const limit = { kind: "empty", message: "the output limit was reached before any answer", detector: frame };
    assert.deepEqual(ended(think("hm"), reason("length")), limit);
    assert.deepEqual(ended(say("words"), reason("content-filter")), {});
    assert.deepEqual(ended(call("act", {}), reason("content-filter", "refusal")), filter("refusal"));
    assert.deepEqual(ended(reason("content-filter")), filter("content-filter"));
    const unknown = "the provider ended the answer with a reason we do not know:";
    assert.deepEqual(ended(say("words"), reason("other", "paused")), {
      kind: "unknown",
      message: `${unknown} paused`,
      detector: frame,
    });
    assert.equal(ended(say("words"), reason("other")).message, `${unknown} none given`);
  });

  it("an error part voids whatever came with it", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "busy" } } as const;
    assert.deepEqual(ended(say("words"), error, reason("stop")), {
      kind: "overloaded",
      message: "busy",
      detector: "error-part",
    });
  });
});
