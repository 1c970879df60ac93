/**
 * What a watcher of another process's turn has been told, and what follows from it: facts as they are read, words as the
 * partial journal has them.
 *
 * Owns: which words are told, and when. Does not own: reading, waiting (watch). Pure. Invariants:
 * 1. Of a part, what has been told is always a beginning of what its attempt said (L2), and nothing of it is told twice.
 * 2. What an attempt's end keeps and was not told as words is told as words before that end: whoever prints words has them all.
 * 3. Words are told of the open attempt alone; what is withdrawn is not completed first.
 */
import type { LogEntry } from "../log/envelope.ts";
import type { EventOf, MessagePart } from "../log/event.ts";
import type { Partial } from "../store/store.ts";
import { type Pending, unsettled } from "../tool/pending.ts";
import type { LiveItem } from "../view/live.ts";
import { isRetracted } from "../view/transcript.ts";
import { type Line, linesOf, nextOf } from "./journal.ts";
import { pendingApproval, questionFold } from "./question.ts";

interface ToldPart {
  text: string;
  ended: boolean;
}

/** The attempt whose words are told. */
interface ToldAttempt {
  id: string;
  parts: Map<string, ToldPart>;
  /** Its end is told; its message comes. */
  ended: boolean;
  /** Of this session: what a fork took over has its journal elsewhere. */
  own: boolean;
  /** How much of its journal is read, and by which driver that was written. */
  read: number;
  epoch: number | undefined;
}

export class Told {
  readonly #session: string;
  readonly #questions: ReturnType<typeof questionFold>;
  #calls: Pending;
  /** Questions that have been told, by approval. */
  #asked = new Set<string>();
  #attempt: ToldAttempt | undefined;

  constructor(session: string) {
    this.#session = session;
    this.#questions = questionFold(session);
    this.#calls = this.#questions.init();
  }

  /** What the watcher knows from elsewhere: nothing is told of it. */
  know(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#entry(entry, undefined);
  }

  /** The items of one entry. `next` is the one behind it, if that is known yet. */
  entry(entry: LogEntry, next: LogEntry | undefined): LiveItem[] {
    return [...this.#entry(entry, next), { type: "entry", entry }];
  }

  /** The log is told to its end: questions that wait there, each once. */
  questions(): LiveItem[] {
    const open = unsettled(this.#calls).flatMap((call) => pendingApproval(call) ?? []);
    const news = open.filter(({ approval }) => !this.#asked.has(approval));
    this.#asked = new Set(open.map(({ approval }) => approval));
    return news.map((approval) => ({ type: "approval.pending", approval }));
  }

  /** Whether an attempt is open whose journal may say more. */
  get listens(): boolean {
    return this.#attempt?.own === true && !this.#attempt.ended;
  }

  /** The journal as it is now. What is not of the open attempt says nothing. */
  journal(partial: Partial | undefined): LiveItem[] {
    const open = this.#attempt;
    if (!this.listens || !open || partial?.attempt !== open.id) return [];
    open.epoch ??= partial.epoch;
    if (partial.epoch !== open.epoch) return [];
    const text = partial.chunks.join("");
    // Behind the last line end a line may still be on its way.
    const end = text.lastIndexOf("\n") + 1;
    if (end <= open.read) return [];
    const lines = linesOf(text.slice(open.read, end));
    open.read = end;
    return joined(lines.flatMap((line) => journaled(open, line)));
  }

  #entry(entry: LogEntry, next: LogEntry | undefined): LiveItem[] {
    const { event } = entry;
    this.#calls = this.#questions.step(this.#calls, entry);
    switch (event.type) {
      case "attempt.started":
        this.#attempt = event.purpose === "step" ? begun(event.attempt, entry.session === this.#session) : undefined;
        return [];
      case "attempt.ended":
        return this.#ended(event, next);
      case "message.committed": {
        const open = this.#attempt;
        this.#attempt = undefined;
        return open?.id === event.attempt ? completed(open, event.parts) : [];
      }
      case "turn.ended":
        this.#attempt = undefined;
        return [];
      default:
        return [];
    }
  }

  #ended(event: EventOf<"attempt.ended">, next: LogEntry | undefined): LiveItem[] {
    const open = this.#attempt;
    if (open?.id !== event.attempt) return [];
    if (event.end === "committed") {
      open.ended = true;
      const message = next?.event;
      // Before the end, as live; and with it where it is not there yet.
      const parts = message?.type === "message.committed" && message.attempt === open.id ? message.parts : [];
      return completed(open, parts);
    }
    this.#attempt = undefined;
    return isRetracted(event) ? [] : completed(open, event.fragment ?? []);
  }
}

function begun(id: string, own: boolean): ToldAttempt {
  return { id, parts: new Map(), ended: false, own, read: 0, epoch: undefined };
}

function journaled(open: ToldAttempt, line: Line): LiveItem[] {
  const { part: id, kind, tool, at = 0, ended = false } = line;
  const known = open.parts.get(id);
  const length = known?.text.length ?? 0;
  // A write was lost: the end of the attempt brings what stood in it, and all behind it.
  if (known?.ended || at > length) return [];
  return grown(open, { id, kind, tool, said: nextOf(line, length), ended });
}

/** Words of one part that were written one after the other are told at once. */
function joined(items: readonly LiveItem[]): LiveItem[] {
  const told: LiveItem[] = [];
  for (const item of items) {
    const last = told.at(-1);
    if (item.type === "part.delta" && last?.type === "part.delta" && last.part === item.part) last.text += item.text;
    else told.push(item);
  }
  return told;
}

/** The words of these parts that were not told. One that differs from what was told (erased since) only ends. */
function completed(open: ToldAttempt, parts: readonly MessagePart[]): LiveItem[] {
  return parts.flatMap((part) => {
    if (part.type !== "text" && part.type !== "reasoning" && part.type !== "tool-call") return [];
    const known = open.parts.get(part.id);
    if (known?.ended) return [];
    const whole = part.type === "tool-call" ? part.input : part.text;
    const said = whole.startsWith(known?.text ?? "") ? whole.slice(known?.text.length ?? 0) : "";
    const tool = part.type === "tool-call" ? part.tool : undefined;
    return grown(open, { id: part.id, kind: part.type, tool, said, ended: true });
  });
}

interface Growth {
  id: string;
  kind: Line["kind"];
  tool: string | undefined;
  said: string;
  ended: boolean;
}

function grown(open: ToldAttempt, { id, kind, tool, said, ended }: Growth): LiveItem[] {
  const at = { attempt: open.id, part: id };
  const items: LiveItem[] = [];
  const known = open.parts.get(id);
  open.parts.set(id, { text: (known?.text ?? "") + said, ended });
  if (!known) items.push({ type: "part.started", ...at, kind, ...(tool === undefined ? {} : { tool }) });
  if (said !== "") items.push({ type: "part.delta", ...at, kind, text: said });
  if (ended) items.push({ type: "part.ended", ...at });
  return items;
}
