/**
 * A session as people write it: its id, its name, or enough of the id's start or end to tell it from the others. Ids are
 * ordered by time: those of one day begin alike, and only their ends are short.
 *
 * An id comes before a name, a name before a part: what is written out whole is never taken for something else.
 */
import { isId, PawlError, type Runtime, type Store } from "@pawl/core";
import { sessionIds } from "@pawl/core/node";
import { near } from "./near.ts";
import { seenText } from "./style.ts";

/** Shorter ones are guesses: an id that this store makes begins with its day. */
const leastPart = 6;
/** Of those that a part fits, or that are meant perhaps. */
const shown = 4;
/** What this store makes; whoever writes one means a session that is there. */
const made = /^s_[0-9A-HJKMNP-TV-Z]{4,}$/;
/** Nobody means `my-nightly` by `nightly`: only an id of ours is known by its end. */
const madeEnd = /^[0-9A-HJKMNP-TV-Z]{6,}$/;

/** The session's id. Fails with SESSION_NOT_FOUND, saying what is near; INVALID_INPUT for what fits several, or is no id. */
export async function addressOf({ store }: Runtime, text: string): Promise<string> {
  const whole = await wholeAddress(store, text);
  if (whole !== undefined) return whole;
  if (!isId(text)) {
    const what = `${seenText(text)} cannot be a session id; use 1 to 64 characters A-Z a-z 0-9 _ -`;
    throw new PawlError("INVALID_INPUT", what);
  }
  const ids = await allIds(store);
  return partOf(ids, text) ?? missing(text, ids);
}

/**
 * Of `run --session`, which may name a new one: undefined where it does, with what a person should be told. A start counts
 * only where it is one of an id that we made: `nightly` is a new session, also beside a `nightly-2`.
 */
export async function addressOrNew({ store }: Runtime, text: string): Promise<{ id?: string; warning?: string }> {
  const whole = await wholeAddress(store, text);
  if (whole !== undefined) return { id: whole };
  if (!isId(text)) return {};
  const ids = await allIds(store);
  if (made.test(text) || madeEnd.test(text)) {
    const found = partOf(ids, text);
    if (found !== undefined) return { id: found };
  }
  if (made.test(text)) {
    if (near(text, ids).length > 0) missing(text, ids);
    return {};
  }
  // A series (task-1, task-2) is no slip of the fingers.
  const meant = near(text, ids).filter((id) => unnumbered(id) !== unnumbered(text));
  return meant.length === 0 ? {} : { warning: `a new session ${text} begins; there is also ${listed(meant)}` };
}

/** How a person is told of it: by its name, if that is how they called it. */
export async function calledBy({ store }: Runtime, text: string, session: string): Promise<string> {
  return text !== session && (await store.resolveName(text)) === session ? text : session;
}

async function wholeAddress(store: Store, text: string): Promise<string | undefined> {
  if (isId(text) && (await store.get(text))) return text;
  return text === "" ? undefined : store.resolveName(text);
}

async function allIds(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of sessionIds(store)) ids.push(id);
  return ids;
}

function partOf(ids: readonly string[], text: string): string | undefined {
  if (text.length < leastPart) return undefined;
  const starting = ids.filter((id) => id.startsWith(text));
  const ending = madeEnd.test(text) ? ids.filter((id) => made.test(id) && id.endsWith(text)) : [];
  const found = starting.length > 0 ? starting : ending;
  if (found.length <= 1) return found[0];
  const part = starting.length > 0 ? "start" : "end";
  throw new PawlError(
    "INVALID_INPUT",
    `"${text}" is the ${part} of ${found.length} sessions (${listed(found)}); write more of it`,
  );
}

function missing(text: string, ids: readonly string[]): never {
  const meant = near(text, ids);
  const also = meant.length === 0 ? "`pawl sessions` lists them" : `did you mean ${listed(meant)}?`;
  throw new PawlError("SESSION_NOT_FOUND", `there is no session "${text}"; ${also}`);
}

function listed(ids: readonly string[]): string {
  const more = ids.length > shown ? `, and ${ids.length - shown} more` : "";
  return `${ids.slice(0, shown).join(", ")}${more}`;
}

const unnumbered = (text: string): string => text.replace(/\d+/g, "#");
