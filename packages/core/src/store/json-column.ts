/**
 * JSON that lies in columns: who holds a lease, what a list says of a session.
 *
 * What cannot be read must not bar what can: a row that was damaged or edited by hand reads as the plainest value that
 * claims nothing. Records are another matter; they have checksums.
 */
import type { Head, Holder } from "./store.ts";

/** Nobody can tell whether this one lives: its lease counts until it expires. */
const unreadable: Holder = { id: "unreadable", host: "", boot: "", pid: 0, start: "" };

export function holderOf(text: string): Holder {
  const value = objectOf(text);
  const { id, host, boot, pid, start } = value as { [field in keyof Holder]?: unknown };
  const whole = [id, host, boot, start].every((field) => typeof field === "string") && Number.isSafeInteger(pid);
  return whole ? (value as unknown as Holder) : unreadable;
}

/** `workspace`: what the session needs, as its own column says it; empty for nothing. */
export function headOf(text: string, workspace: string): Head {
  const { workspace: _, ...head }: Head = objectOf(text);
  return workspace === "" ? head : { ...head, workspace };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
