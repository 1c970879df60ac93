/**
 * What a provider asks us to wait, from response headers. Pure; the wall clock comes in.
 *
 * The trap: `Date.parse("120")` and `Date.parse("-5")` are dates in JavaScript, so only text that looks like an
 * HTTP-date is read as one.
 */

const digits = /^\d+(\.\d+)?$/;
const httpDate = /^[A-Za-z]{3,9},? \d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
/** No wait is longer: the moment it names must stay a date that JavaScript can hold. */
const centuryMs = 100 * 365 * 86_400_000;

/**
 * Milliseconds to wait, or undefined where the headers say nothing usable: negative, past, not a number. Order:
 * `retry-after-ms`, digits-only seconds (decimals allowed), HTTP-date against the response's own `date` where it has one.
 */
export function retryAfterMs(headers: unknown, now: number): number | undefined {
  const inMs = header(headers, "retry-after-ms");
  if (inMs !== undefined && digits.test(inMs)) return Math.min(Number(inMs), centuryMs);
  const text = header(headers, "retry-after");
  if (text === undefined) return undefined;
  if (digits.test(text)) return Math.min(Number(text) * 1000, centuryMs);
  if (!httpDate.test(text)) return undefined;
  const sentAt = header(headers, "date");
  const from = sentAt !== undefined && httpDate.test(sentAt) ? Date.parse(sentAt) : now;
  const wait = Date.parse(text) - from;
  return wait > 0 ? Math.min(wait, centuryMs) : undefined;
}

/** One header's value, trimmed; names in any case, from a record, `Headers` or pairs. The first of several counts. */
export function header(headers: unknown, name: string): string | undefined {
  for (const [key, value] of pairs(headers)) {
    if (key.toLowerCase() !== name) continue;
    const first = firstOf(value);
    const text = typeof first === "number" ? String(first) : first;
    // `Headers` joins repeated values with a comma; a date has one of its own after the weekday.
    if (typeof text === "string") return (/^\s*[\d.]+\s*,/.test(text) ? (text.split(",")[0] ?? "") : text).trim();
  }
  return undefined;
}

function firstOf(value: unknown): unknown {
  try {
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return undefined;
  }
}

/** Headers come from other people's errors: whatever cannot be read is not there. */
function pairs(headers: unknown): (readonly [string, unknown])[] {
  if (typeof headers !== "object" || headers === null) return [];
  try {
    const entries = Symbol.iterator in headers ? [...(headers as Iterable<unknown>)] : Object.entries(headers);
    return entries.filter((pair): pair is [string, unknown] => Array.isArray(pair) && typeof pair[0] === "string");
  } catch {
    return [];
  }
}
