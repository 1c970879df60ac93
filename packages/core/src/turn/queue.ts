/**
 * The inputs and steers that wait in a mailbox, as they stand after edits and withdrawals. Pure.
 *
 * An edit or a withdrawal counts if it arrives after its input and before a turn claims it; the last edit wins, nothing
 * follows a withdrawal. Whatever comes later is told in a note, never acted on.
 */
import { PawlError } from "../error.ts";
import { partShape } from "../log/check.ts";
import type { Part } from "../log/event.ts";
import { id, list, object, seen } from "../log/shape.ts";
import type { MailboxEntry } from "../store/store.ts";

export interface QueuedInput {
  id: string;
  kind: "prompt" | "steer";
  content: Part[];
}

/** With the edits that leave the mailbox together with it. */
export interface InputPost extends QueuedInput {
  edits: string[];
}

export interface Queue {
  waiting: InputPost[];
  /** Each with every post that was about it, its own first. */
  withdrawn: { input: string; posts: string[] }[];
  /** Edits and withdrawals that came when their input was no longer there. */
  late: { id: string; kind: "edit" | "withdrawal"; input: string }[];
}

const content = list(partShape);
const editShape = object<{ input: string; content: Part[] }>({ input: id, content });
const withdrawalShape = object<{ input: string }>({ input: id });

/** The id of an input that is to be changed. Throws INVALID_INPUT: a post that nobody understands would wait for ever. */
export function inputId(input: string): string {
  const problem = id.check(input, "input");
  if (problem) throw new PawlError("INVALID_INPUT", problem);
  return input;
}

/** What an input or a steer holds. Throws INVALID_INPUT. */
export function contentOf(input: string | readonly Part[]): Part[] {
  const parts: readonly Part[] = typeof input === "string" ? [{ type: "text", text: input }] : input;
  const problem = content.check(parts, "input");
  if (problem) throw new PawlError("INVALID_INPUT", problem);
  const blank = parts.every((part) => part.type === "text" && part.text.trim() === "");
  if (blank) throw new PawlError("INVALID_INPUT", `the input is empty: ${seen(input)}; say what is to be done`);
  return [...parts];
}

/** `taken`: posts that are as good as gone. A post of a shape that we do not know stays for who understands it. */
export function queueOf(entries: readonly MailboxEntry[], taken: ReadonlySet<string> = new Set()): Queue {
  // Mostly nobody has written, and a driver asks at every turn of its loop.
  if (entries.length === 0) return { waiting: [], withdrawn: [], late: [] };
  const waiting = new Map<string, InputPost>();
  const withdrawn = new Map<string, string[]>();
  const late: Queue["late"] = [];
  const unread = new Set<string>();
  for (const entry of entries) {
    if (taken.has(entry.id)) continue;
    if (entry.kind === "input" || entry.kind === "steer") {
      const input = inputOf(entry);
      if (input) waiting.set(input.id, input);
      else unread.add(entry.id);
      continue;
    }
    const change = changeOf(entry);
    if (!change || unread.has(change.input)) continue;
    const input = waiting.get(change.input);
    if (!input) late.push({ id: change.id, kind: change.kind, input: change.input });
    else if (change.kind === "edit") {
      input.content = change.content;
      input.edits.push(change.id);
    } else {
      waiting.delete(input.id);
      withdrawn.set(input.id, [input.id, ...input.edits, change.id]);
    }
  }
  return {
    waiting: [...waiting.values()],
    withdrawn: [...withdrawn].map(([input, posts]) => ({ input, posts })),
    late,
  };
}

function inputOf({ id, kind, body }: MailboxEntry): InputPost | undefined {
  const parts = (body as { content?: unknown } | null)?.content;
  if (content.check(parts, "content") !== undefined) return undefined;
  return { id, kind: kind === "input" ? "prompt" : "steer", content: parts as Part[], edits: [] };
}

type Change = { id: string; input: string } & ({ kind: "edit"; content: Part[] } | { kind: "withdrawal" });

function changeOf({ id, kind, body }: MailboxEntry): Change | undefined {
  if (kind === "edit" && editShape.check(body, "body") === undefined) {
    const { input, content } = body as unknown as { input: string; content: Part[] };
    return { id, kind, input, content };
  }
  if (kind === "withdrawal" && withdrawalShape.check(body, "body") === undefined)
    return { id, kind, input: (body as { input: string }).input };
  return undefined;
}
