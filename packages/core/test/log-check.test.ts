/** The one validator: every field of every event, wrong or missing, is refused with its name and the value seen. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkEvent, isEventType } from "../src/log/check.ts";
import type { LogEvent } from "../src/log/event.ts";
import { seen } from "../src/log/shape.ts";
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
