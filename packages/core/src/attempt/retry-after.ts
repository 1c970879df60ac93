/**
 * What a provider asks us to wait, from response headers. Pure; the wall clock comes in.
 *
 * The trap: `Date.parse("120")` and `Date.parse("-5")` are dates in JavaScript, so only text that looks like an
 * HTTP-date is read as one.
 */

const digits = /^\d+(\.\d+)?$/;
const httpDate = /^[A-Za-z]{3},? \d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Milliseconds to wait, or undefined where the headers say nothing usable: negative, past, not a number. Order:
 * `retry-after-ms`, digits-only seconds (decimals allowed), HTTP-date against the response's own `date` where it has one.
 */
export function retryAfterMs(headers: unknown, now: number): number | undefined {
  const inMs = header(headers, "retry-after-ms");
  if (inMs !== undefined && digits.test(inMs)) return Number(inMs);
  const text = header(headers, "retry-after");
  if (text === undefined) return undefined;
  if (digits.test(text)) return Number(text) * 1000;
  if (!httpDate.test(text)) return undefined;
  const sentAt = header(headers, "date");
  const from = sentAt !== undefined && httpDate.test(sentAt) ? Date.parse(sentAt) : now;
  const wait = Date.parse(text) - from;
  return wait > 0 ? wait : undefined;
}

/** One header's value, trimmed; names in any case, from a record, `Headers` or pairs. The first of several counts. */
export function header(headers: unknown, name: string): string | undefined {
  for (const [key, value] of pairs(headers)) {
    if (key.toLowerCase() !== name) continue;
    const first = Array.isArray(value) ? value[0] : value;
    const text = typeof first === "number" ? String(first) : first;
    // `Headers` joins repeated values with a comma; a date has one of its own after the weekday.
    if (typeof text === "string") return (/^\s*[\d.]+\s*,/.test(text) ? (text.split(",")[0] ?? "") : text).trim();
  }
  return undefined;
}

function* pairs(headers: unknown): Iterable<readonly [string, unknown]> {
  if (typeof headers !== "object" || headers === null) return;
  if (Symbol.iterator in headers) {
    for (const pair of headers as Iterable<unknown>) {
      if (Array.isArray(pair) && typeof pair[0] === "string") yield [pair[0], pair[1]];
    }
    return;
  }
  for (const key of Object.keys(headers)) yield [key, (headers as Record<string, unknown>)[key]];
}
