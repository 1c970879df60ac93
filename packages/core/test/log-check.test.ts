/** The one validator: every field of every event, wrong or missing, is refused with its name and the value seen. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limit } from "../src/limit.ts";
import { checkEvent, isEventType } from "../src/log/check.ts";
import type { LogEvent } from "../src/log/event.ts";
import {
  boolean,
  id,
  isWorkspace,
  json,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  seen,
  string,
  tagged,
  workspace,
  workspaceWords,
} from "../src/log/shape.ts";
import { eventTypes } from "./arbitrary.ts";
import { opaque, samples } from "./event-sample.ts";

type Path = (string | number)[];

function* paths(value: unknown, path: Path = []): Generator<{ path: Path; value: unknown }> {
  if (path.length > 0) yield { path, value };
  if (typeof value !== "object" || value === null || opaque.has(String(path.at(-1))) || isTurnOutput(path)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (path.length === 0 && key === "type") continue;
    yield* paths(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

/** `output` of turn.ended is any JSON, of tool.settled it is not. */
function isTurnOutput(path: Path): boolean {
  return path.length === 1 && path[0] === "output" && currentType === "turn.ended";
}
let currentType = "";

function changed(event: LogEvent, path: Path, value: unknown): LogEvent {
  const copy = structuredClone(event) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
  const last = path.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy as unknown as LogEvent;
}

function shown(type: string, path: Path): string {
  return type + path.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
}

function wrongFor(path: Path, value: unknown): unknown {
  if (opaque.has(String(path.at(-1))) || isTurnOutput(path)) return () => "no JSON";
  return typeof value === "object" ? "wrong" : ["wrong"];
}

describe("the validator", () => {
  for (const type of eventTypes) {
    test(`${type}: each field, given something else, is refused by name and value`, () => {
      currentType = type;
      const sample: LogEvent = samples[type];
      assert.equal(checkEvent(sample), undefined);
      for (const { path, value } of paths(sample)) {
        const wrong = wrongFor(path, value);
        const problem = checkEvent(changed(sample, path, wrong));
        const where = shown(type, path);
        assert.ok(problem, `${where} accepts ${seen(wrong)}`);
        // A union that is no object at all is told apart by its tag first.
        const tag = problem.startsWith(`${where}.type must be one of`);
        assert.ok(problem.startsWith(`${where} must be`) || tag, `${where}: ${problem}`);
        assert.ok(problem.endsWith(`is ${tag ? "undefined" : seen(wrong)}`), problem);
      }
    });
  }

  test("a missing required field is refused by name", () => {
    const required: { [type: string]: string[] } = {
      "input.accepted": ["input", "kind", "content"],
      "turn.started": ["turn", "inputs"],
      "turn.ended": ["turn", "outcome"],
      "step.started": ["step", "turn", "number"],
      "step.ended": ["step"],
      "attempt.started": ["attempt", "step", "number", "purpose", "model"],
      "attempt.ended": ["attempt", "end", "exposure", "usage", "durationMs"],
      "message.committed": ["attempt", "parts", "finish", "model"],
      "approval.requested": ["approval", "call", "digest", "ordinal"],
      "approval.resolved": ["approval", "answer", "by", "scope"],
      "tool.entered": ["call", "tool", "digest", "effect", "key"],
      "tool.settled": ["call", "output", "by"],
      "context.compacted": ["upTo", "summary"],
      "provider-state.stripped": ["provider", "reason"],
      "snapshot.recorded": ["step", "snapshot"],
      "log.repaired": ["reason", "from", "to"],
      "note.recorded": ["about", "text"],
    };
    for (const type of eventTypes) {
      for (const field of Object.keys(samples[type]).filter((name) => name !== "type")) {
        const problem = checkEvent(changed(samples[type], [field], undefined));
        if (required[type]?.includes(field))
          assert.match(problem ?? "", new RegExp(`^${type}\\.${field}.* is undefined$`));
        else assert.equal(problem, undefined, `${type}.${field} may be missing`);
      }
    }
  });

  test("numbers that JSON or arithmetic would bend are refused", () => {
    const started = samples["attempt.started"];
    for (const number of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "1"]) {
      assert.match(checkEvent(changed(started, ["number"], number)) ?? "", /number must be a whole number/);
    }
    const ended = samples["attempt.ended"];
    for (const number of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.match(checkEvent(changed(ended, ["durationMs"], number)) ?? "", /durationMs must be a finite number/);
    }
    assert.equal(checkEvent(changed(ended, ["cost"], -0.5)), undefined);
  });

  test("ids stay what file names, URLs and providers can carry", () => {
    for (const id of ["", "a b", "../a", "ä", "x".repeat(65), "a\n"]) {
      assert.match(checkEvent({ ...samples["step.ended"], step: id }) ?? "", /step must be an id of 1 to 64/);
    }
    assert.equal(checkEvent({ ...samples["step.ended"], step: "x".repeat(64) }), undefined);
  });

  test("a union's unknown variant is refused with the variants there are", () => {
    const part = { type: "hologram" };
    const event = changed(samples["input.accepted"], ["content", 0], part);
    assert.match(checkEvent(event) ?? "", /content\[0\]\.type must be one of text, file, data, is "hologram"/);
  });

  test("what is no event at all, or of an unknown type, is refused", () => {
    for (const value of [
      undefined,
      null,
      7,
      "text",
      [],
      {},
      { type: 7 },
      { type: "future.fact" },
      { type: "toString" },
    ]) {
      assert.match(checkEvent(value as LogEvent) ?? "", /^unknown type /);
    }
    assert.equal(isEventType("toString"), false);
  });

  test("a field that a later version adds passes", () => {
    assert.equal(checkEvent({ ...samples["step.ended"], later: 1 } as LogEvent), undefined);
  });

  test("a long value is cut in the message", () => {
    assert.ok((checkEvent({ ...samples["step.ended"], step: "/".repeat(10_000) }) ?? "").length < 200);
  });
});

/** Every word that a field may hold. A log that holds one is refused by a version that has forgotten it. */
const vocabulary: [LogEvent["type"], Path, string][] = [
  [
    "step.ended",
    ["failure", "kind"],
    "connect stream-broken rate-limited overloaded server empty overflow quota auth rejected provider-state filtered aborted tool-runtime store unknown",
  ],
  ["step.ended", ["failure", "said"], "retry stop"],
  ["step.ended", ["failure", "detector"], "socket watchdog error-part end-of-stream status terminal-frame runtime"],
  ["attempt.ended", ["end"], "committed discarded sealed failed interrupted"],
  ["attempt.ended", ["decision", "action"], "retry seal discard compact strip stop"],
  ["attempt.ended", ["decision", "limit"], "time cost"],
  ["attempt.ended", ["usage", "measure"], "reported estimated unknown"],
  ["attempt.started", ["purpose"], "step compaction title"],
  [
    "turn.ended",
    ["outcome", "type"],
    "completed failed aborted interrupted rate-limited quota truncated empty filtered overflow context-full",
  ],
  ["input.accepted", ["kind"], "prompt steer"],
  ["step.started", ["header", "reasoning"], "send turn drop"],
  ["step.started", ["header", "images"], "send"],
  ["approval.resolved", ["answer"], "allow deny"],
  ["approval.resolved", ["scope"], "call session forks"],
  ["tool.entered", ["effect"], "read idempotent write"],
  ["tool.settled", ["by"], "tool recovery reconcile rerun abandoned"],
  [
    "tool.settled",
    ["output", "code"],
    "TOOL_NOT_STARTED TOOL_OUTCOME_UNKNOWN TOOL_INPUT_CUT TOOL_INPUT_INVALID TOOL_UNKNOWN TOOL_DENIED TOOL_TIMEOUT TOOL_ABORTED TOOL_ABANDONED TOOL_FAILED",
  ],
  ["context.compacted", ["by"], "summary drop prune"],
];

describe("the words of the log", () => {
  for (const [type, path, words] of vocabulary) {
    test(`${shown(type, path)} holds each of its words, and no other`, () => {
      for (const word of words.split(" "))
        assert.equal(checkEvent(changed(samples[type], path, word)), undefined, word);
      for (const word of ["", "other", "toString"]) {
        const problem = checkEvent(changed(samples[type], path, word)) ?? "";
        assert.ok(problem.startsWith(`${shown(type, path)} must be one of ${words.split(" ").join(", ")}`), problem);
      }
    });
  }

  test("turn.ended.outcome.limit holds each budget, and must be there", () => {
    const ended = (limit?: string) =>
      checkEvent(changed(samples["turn.ended"], ["outcome"], { type: "limit", ...(limit ? { limit } : {}) }));
    for (const word of ["steps", "attempts", "time", "cost"]) assert.equal(ended(word), undefined, word);
    for (const word of [undefined, "tokens"])
      assert.match(ended(word) ?? "", /^turn\.ended\.outcome\.limit must be one of steps, attempts, time, cost, is /);
  });

  test("step.started.header.images and .reasoning are refused by name", () => {
    for (const field of ["images", "reasoning"])
      assert.match(
        checkEvent(changed(samples["step.started"], ["header", field], 1)) ?? "",
        new RegExp(`header\\.${field} must be one of`),
      );
  });
});

describe("shapes", () => {
  test("say what they want, and what they saw", () => {
    assert.equal(string.check(1, "x"), "x must be a string, is 1");
    assert.equal(boolean.check(1, "x"), "x must be true or false, is 1");
    assert.equal(number.check("1", "x"), 'x must be a finite number, is "1"');
    assert.equal(oneOf("a", "b").check("c", "x"), 'x must be one of a, b, is "c"');
    assert.equal(json().check(undefined, "x"), "x must be a JSON value, is undefined");
    assert.equal(list(string).check(["a", 1], "x"), "x[1] must be a string, is 1");
    assert.equal(list(string).check("a", "x"), 'x must be a list, is "a"');
    assert.equal(record(string).check({ a: "a", b: 1 }, "x"), "x.b must be a string, is 1");
    assert.equal(object<{ a: string }>({ a: string }).check({ a: 1 }, "x"), "x.a must be a string, is 1");
    assert.equal(optional(string).check(null, "x"), "x must be a string, is null");
    assert.equal(optional(string).check(undefined, "x"), undefined);
    assert.equal(optional(string).optional, true);
    for (const none of [null, [], "a", undefined]) {
      assert.equal(object({}).check(none, "x"), `x must be an object, is ${seen(none)}`);
      assert.equal(record(string).check(none, "x"), `x must be an object, is ${seen(none)}`);
    }
    const union = tagged<{ type: "a" }, "type">("type", { a: object({}) });
    for (const none of [null, undefined, "a", { type: ["a"] }])
      assert.match(union.check(none, "x") ?? "", /^x\.type must be one of a, is /, seen(none));
    assert.equal(id.check("", "x"), 'x must be an id of 1 to 64 characters A-Z a-z 0-9 _ -, is ""');
  });

  test("a value seen is shown whole up to 60 characters, and cut behind them", () => {
    assert.equal(seen("a"), '"a"');
    assert.equal(seen(undefined), "undefined");
    assert.equal(seen(Symbol.iterator), "Symbol(Symbol.iterator)");
    assert.equal(seen(10n), "10n");
    const loop: unknown[] = [];
    loop.push(loop);
    assert.equal(seen(loop), "a object that is no JSON");
    assert.equal(seen("x".repeat(58)), `"${"x".repeat(58)}"`);
    assert.equal(seen("x".repeat(59)), `"${"x".repeat(56)}...`);
  });

  test("JSON is what comes back as it went: nothing that writing would drop or bend", () => {
    const same = [
      null,
      "",
      false,
      0,
      -1.5,
      [],
      {},
      [null, [1]],
      { a: { b: [1] } },
      { a: undefined },
      Object.create(null),
    ];
    for (const value of same) assert.equal(json().check(value, "x"), undefined, seen(value));
    for (const around of [(value: unknown) => [value], (value: unknown) => ({ a: value })]) {
      let deep: unknown = 1;
      for (let depth = 0; depth < limit.jsonDepth; depth += 1) deep = around(deep);
      assert.equal(json().check(deep, "x"), undefined);
      assert.notEqual(json().check(around(deep), "x"), undefined, "as deep as a thread can hand over, and no deeper");
    }
    const bent = [
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      new Date(0),
      new Map(),
      [undefined],
      [1, undefined],
      [Number.NaN, 1],
      { a: Number.NaN },
      { a: 1, b: () => {} },
      { a: [{ b: new Date(0) }] },
      () => {},
      Symbol.iterator,
    ];
    for (const [at, value] of bent.entries()) assert.notEqual(json().problem(value), undefined, `${at}`);
  });

  test("a workspace is a whole text that fits into an index", () => {
    const words = "a workspace of 1 to 256 characters";
    for (const good of ["w", "a place, /with any sign", "w".repeat(256), "🙂"]) {
      assert.ok(isWorkspace(good));
      assert.equal(workspace.check(good, "x"), undefined);
    }
    for (const bad of ["", "w".repeat(257), "\ud800", 5, ["w"], undefined]) {
      assert.equal(isWorkspace(bad), false);
      assert.equal(workspace.check(bad, "x"), `x must be ${words}, is ${seen(bad)}`);
      assert.equal(workspaceWords(bad), `${seen(bad)} cannot be ${words}`);
    }
  });

  test("an amount may be nothing at all", () => {
    assert.equal(checkEvent(changed(samples["attempt.ended"], ["durationMs"], 0)), undefined);
  });
});
