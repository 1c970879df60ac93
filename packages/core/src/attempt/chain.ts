/**
 * Walks everything an error stands on: `cause`, the members of aggregates, the errors inside retry wrappers.
 *
 * Errors come from other people's code: cycles, getters that throw and revoked proxies must not harm us.
 */

/** Deep enough for every wrapper seen, shallow enough that a hostile chain costs nothing. */
const maxLinks = 32;
const children = ["cause", "errors", "lastError", "error", "originalError", "suppressed"] as const;

/** All links, outermost first, each once. Values that are no objects come only as the last link of a branch. */
export function links(...errors: unknown[]): unknown[] {
  const found: unknown[] = [];
  const seen = new Set<unknown>();
  const queue: unknown[] = errors;
  while (queue.length > 0 && found.length < maxLinks) {
    const link = queue.shift();
    if (link === undefined || link === null || seen.has(link)) continue;
    seen.add(link);
    found.push(link);
    for (const name of children) queue.push(...members(read(link, name)));
  }
  return found;
}

function members(child: unknown): unknown[] {
  try {
    return Array.isArray(child) ? child.slice(0, maxLinks) : [child];
  } catch {
    return [];
  }
}

/** A property, or undefined where there is none or reading it throws. */
export function read(value: unknown, name: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

export function readString(value: unknown, name: string): string | undefined {
  const found = read(value, name);
  return typeof found === "string" && found !== "" ? found : undefined;
}

export function isError(value: unknown): boolean {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** The message of one link, one line, bounded: it goes into the log and before people's eyes. */
export function messageOf(link: unknown): string {
  const text = typeof link === "string" ? link : (readString(link, "message") ?? readString(link, "name") ?? "");
  return text.slice(0, 2_000).replace(/\s+/g, " ").trim().slice(0, 500).toWellFormed();
}
