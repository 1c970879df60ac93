/** What is handed to the code of others is a copy: they write into it. Pure. */

/** Lists and plain objects; addresses, bytes and texts are nobody's to change. */
export function copied<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copied) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {};
  // A loop, and plain assignment: made of entries, a copy costs ten times as much, and every fact that is told is one.
  for (const key of Object.keys(value)) {
    const inner = copied((value as Record<string, unknown>)[key]);
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: inner, enumerable: true, writable: true, configurable: true });
    else copy[key] = inner;
  }
  return copy as T;
}
