/** Which session a chat is about, and the ways from one to another that need no model. */
import {
  createSession,
  forkSession,
  isId,
  isTaskSession,
  openSession,
  PawlError,
  type Runtime,
  rewindSession,
  type Session,
  type SessionSummary,
} from "@pawl/core";
import { forkPoint } from "../fork-point.ts";
import { everySession } from "../session-pages.ts";
import { grouped, line, moment, seenText } from "../style.ts";

/** So many fit a screen. */
const listed = 10;

export function newSession(
  runtime: Runtime,
  cwd: string,
  input: string,
  workspace: string | undefined,
): Promise<Session> {
  const needs = workspace === undefined ? {} : { workspace };
  return createSession(runtime, undefined, { cwd, title: line(input, 72), ...needs });
}

export async function sessionLines({ store }: Runtime, folder: string): Promise<string[]> {
  const sessions: SessionSummary[] = [];
  for await (const one of everySession(store)) {
    if (one.head.cwd === folder && !isTaskSession(one.session)) sessions.push(one);
    if (sessions.length === listed) break;
  }
  if (sessions.length === 0) return ["no session of this folder yet; `pawl sessions` lists those of all folders"];
  return sessions.map(
    (one) =>
      `${one.session}  ${moment(one.updatedAt).slice(0, 16)}  ${stateOf(one)}  ${line(one.head.title ?? "", 60)}`,
  );
}

function stateOf({ head, lease }: SessionSummary): string {
  if (head.openTurn !== undefined) return lease ? "running" : "interrupted";
  return head.outcome ?? "new";
}

export async function forkOf(runtime: Runtime, session: Session, turn: string): Promise<Session> {
  const place = await forkPoint(runtime, turn === "" ? session.id : `${session.id}:${turn}`);
  return forkSession(runtime, place, undefined, await factsOf(session));
}

/** The name goes along where there is one. */
export async function rewound(runtime: Runtime, session: Session, turn: string): Promise<Session> {
  const place = await forkPoint(runtime, turn === "" ? session.id : `${session.id}:${turn}`, "undo");
  const [name, second] = (await session.summary())?.names ?? [];
  const moves = name !== undefined && second === undefined ? { name } : {};
  return rewindSession(runtime, place, { ...moves, facts: await factsOf(session) });
}

async function factsOf(session: Session): Promise<{ title?: string; cwd?: string }> {
  const { title, cwd } = (await session.summary())?.head ?? {};
  return { ...(title === undefined ? {} : { title }), ...(cwd === undefined ? {} : { cwd }) };
}

/** In words what became of it. */
export async function compacted(session: Session): Promise<string> {
  const dropped = await session.dropContext();
  if (!dropped) return "nothing old enough is here to leave out; /new begins afresh";
  const { tokensBefore = 0, tokensAfter = 0 } = dropped;
  return `the model now sees about ${grouped(tokensAfter)} tokens of this conversation, before it was ${grouped(tokensBefore)}; the log keeps all of it`;
}

export async function named({ store }: Runtime, session: Session, name: string): Promise<string> {
  if (!isId(name) || (await store.get(name)))
    throw new PawlError(
      "INVALID_INPUT",
      `${seenText(name)} cannot be a name; use 1 to 64 characters A-Z a-z 0-9 _ -, and no session's id`,
    );
  const holder = await store.resolveName(name);
  if (holder !== undefined && holder !== session.id)
    throw new PawlError(
      "INVALID_INPUT",
      `"${name}" is the name of session ${holder}; choose another, or move it with pawl name ${session.id} ${name} --move`,
    );
  if (!(await store.setName(name, session.id, holder ?? null)))
    throw new PawlError("CONFLICT", `"${name}" was given to another session meanwhile; look with pawl name ${name}`);
  return `this session is called ${name}: pawl chat ${name}`;
}

export function opened(runtime: Runtime, id: string): Promise<Session> {
  return openSession(runtime, id);
}
