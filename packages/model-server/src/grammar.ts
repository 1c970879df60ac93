import type { Entry, Script } from "./script.ts";
import {
  count,
  fields,
  flag,
  isObject,
  list,
  positive,
  ScriptError,
  type Shape,
  seen,
  shape,
  text,
  yes,
} from "./shape.ts";

/** The grammar of scripts: one table of steps, each named by the field that makes it one. */

const offsets = (value: unknown) => Array.isArray(value) && value.every((each) => Number.isInteger(each) && each >= 0);

const chunks = shape("a number of deltas (1 or more) or a list of offsets", (value) =>
  typeof value === "number" ? Number.isInteger(value) && value >= 1 : offsets(value),
);
const split = shape("a list of offsets", offsets);
const drop = shape("true (all frames of the step), the number of a delta from 0, or a list of such", (value) =>
  typeof value === "number" ? Number.isInteger(value) && value >= 0 : typeof value === "boolean" || offsets(value),
);
const input = shape("an object, the raw text of the arguments, or null", (value) => {
  return value === null || typeof value === "string" || isObject(value);
});
const id = shape(
  'a string, "" for an empty id or null for none',
  (value) => value === null || typeof value === "string",
);
const more = shape("true (all the rest) or a number of deltas", (value) => {
  return value === true || (Number.isInteger(value) && Number(value) >= 0);
});
const finish = shape('"stop", "tool-calls", "length", "content-filter", "refusal" or {"raw": "..."}', (value) => {
  if (isObject(value)) return typeof value["raw"] === "string" && Object.keys(value).length === 1;
  return typeof value === "string" && ["stop", "tool-calls", "length", "content-filter", "refusal"].includes(value);
});
const raw = shape('a string or {"base64": "..."}', (value) => {
  return (
    typeof value === "string" ||
    (isObject(value) && typeof value["base64"] === "string" && Object.keys(value).length === 1)
  );
});
const status = shape(
  "a status from 200 to 599",
  (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
);
const headers = shape("an object of strings", (value) => {
  return isObject(value) && Object.values(value).every((each) => typeof each === "string");
});
const anything: Shape = () => {};

const tokens = fields({ input: count, output: count, reasoning: count, cacheRead: count, cacheWrite: count }, [
  "input",
  "output",
]);
const usage: Shape = (value, path) => {
  if (value === null) return;
  tokens(value, path);
  if (!isObject(value)) return;
  const cached = Number(value["cacheRead"] ?? 0) + Number(value["cacheWrite"] ?? 0);
  if (cached > Number(value["input"]))
    throw new ScriptError(path, seen(value), "cacheRead + cacheWrite of at most input");
  const reasoning = Number(value["reasoning"] ?? 0);
  if (reasoning > Number(value["output"])) throw new ScriptError(path, seen(value), "reasoning of at most output");
};
const fault = fields({ type: text, message: text, code: text, status }, ["type", "message"]);
const when = fields({ lastUserIncludes: text, hasToolResult: text, keep: flag });

const steps: Shape = (value, path) => list(step, "a list of steps")(value, path);

/** Each kind of step: its naming field, then what may stand beside it. */
const STEPS: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  text: { text, chunks, upTo: count, drop },
  reason: { reason: text, chunks, upTo: count, drop, signature: text, redacted: flag },
  call: { call: text, input, id, split, upTo: count, drop, index: count, asObject: flag },
  more: { more },
  usage: { usage },
  finish: { finish, drop: flag },
  error: { error: fault, thenContinue: flag, failed: flag },
  start: { start: yes, drop: flag },
  headers: { headers: yes },
  ping: { ping: yes },
  comment: { comment: text },
  garbage: { garbage: yes },
  raw: { raw },
  wait: { wait: count },
  hold: { hold: text },
  reset: { reset: yes },
  end: { end: yes },
  silence: { silence: yes },
  repeat: { repeat: steps, times: positive },
};

function step(value: unknown, path: string): void {
  const kinds = Object.keys(STEPS);
  if (!isObject(value)) throw new ScriptError(path, seen(value), `a step, an object with one of ${kinds.join(", ")}`);
  const named = kinds.filter((kind) => value[kind] !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    throw new ScriptError(path, seen(value), `exactly one of ${kinds.join(", ")}`);
  }
  fields(STEPS[kind] ?? {}, [kind])(value, path);
}

/** The steps of an entry: a `more` must have a part to go on with. */
const entrySteps: Shape = (value, path) => {
  steps(value, path);
  let open = false;
  for (const [at, each] of (Array.isArray(value) ? value : []).entries()) {
    if (!open && each["more"] !== undefined)
      throw new ScriptError(`${path}[${at}]`, seen(each), "more after a step with upTo");
    open ||= each["upTo"] !== undefined;
  }
};

const played = fields({ steps: entrySteps, headers, pieces: positive, when }, ["steps"]);
const answered = fields({ status, headers, body: anything, error: fault, when }, ["status"]);

const entry: Shape = (value, path) => {
  if (Array.isArray(value)) entrySteps(value, path);
  else if (isObject(value) && value["status"] !== undefined) answered(value, path);
  else if (isObject(value) && value["steps"] !== undefined) played(value, path);
  else throw new ScriptError(path, seen(value), 'an entry: a list of steps, {"steps": [...]} or {"status": 429}');
};

const entries = list(entry, "a list of entries");
const whole = fields({ entries, loop: flag, fallback: entry }, ["entries"]);

function isEntry(value: unknown): value is Entry {
  entry(value, "entry");
  return true;
}

function isScript(value: unknown): value is Script {
  if (Array.isArray(value)) entries(value, "script");
  else whole(value, "script");
  return true;
}

/**
 * Checks that a value (from JSON, say) is a script. Throws a `ScriptError` that names the place, the value seen there
 * and what is allowed.
 *
 * @example
 * const script = parseScript(JSON.parse(await readFile("script.json", "utf8")));
 */
export function parseScript(value: unknown): Script {
  if (isScript(value)) return value;
  throw new ScriptError("script", seen(value), "a script");
}

/** The same for one entry, as a script function returns it. */
export function parseEntry(value: unknown): Entry {
  if (isEntry(value)) return value;
  throw new ScriptError("entry", seen(value), "an entry");
}
