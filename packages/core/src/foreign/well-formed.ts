/** Text without halves of characters, anywhere in a value: one of them makes the whole request body no JSON. Pure. */

/** The same value where nothing was wrong with it. Bytes, addresses and whatever is no plain JSON are left alone. */
export function wellFormed<T>(value: T): T {
  return heal(value, new Map(), 0) as T;
}

/** Deeper than anything that was ever meant, and far from where a walk would run out of stack. */
const depthMost = 1_000;

/** What was seen before is not walked again: a value may hold itself, or one part in many places. */
function heal(value: unknown, known: Map<object, unknown>, depth: number): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null || depth > depthMost) return value;
  if (known.has(value)) return known.get(value);
  if (!Array.isArray(value) && !isPlain(value)) return value;
  known.set(value, value);
  const healed = Array.isArray(value) ? healList(value, known, depth) : healFields(value, known, depth);
  known.set(value, healed);
  return healed;
}

function healList(list: readonly unknown[], known: Map<object, unknown>, depth: number): unknown {
  const healed = list.map((item) => heal(item, known, depth + 1));
  return healed.every((item, at) => item === list[at] || !(at in list)) ? list : healed;
}

function healFields(fields: object, known: Map<object, unknown>, depth: number): unknown {
  const before = Object.entries(fields);
  const healed = before.map(([key, item]) => [key.toWellFormed(), heal(item, known, depth + 1)] as const);
  const same = healed.every(([key, item], at) => key === before[at]?.[0] && Object.is(item, before[at]?.[1]));
  return same ? fields : Object.fromEntries(healed);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
