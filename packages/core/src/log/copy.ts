/** What is handed to the code of others is a copy: they write into it. Pure. */

/** Lists and plain objects; addresses, bytes and texts are nobody's to change. */
export function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)])) as T;
}
