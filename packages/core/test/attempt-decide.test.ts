/** The recovery table, cell by cell: the expectations are written out, not computed from the code under test. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decide, type Moment, type Spent } from "../src/attempt/decide.ts";
import { noExposure } from "../src/attempt/exposure.ts";
import { failureOf } from "../src/attempt/failure.ts";
import { backoffMs, defaultPolicy, type Preset, policyOf } from "../src/attempt/policy.ts";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import type { Decision, Detector, Exposure, Failure, FailureKind } from "../src/log/value.ts";

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
