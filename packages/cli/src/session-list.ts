/** `pawl sessions`: the latest first, a page at a time, or those that a text or a folder picks out. */
import { isTaskSession, PawlError, type SessionSummary, workspaceWait } from "@pawl/core";
import { storeWords, workspaceFolder } from "./place.ts";
import { type Cursor, everySession } from "./session-pages.ts";
import { columnsOf, line, moment, type Tone, toned, wrapped } from "./style.ts";
import { within } from "./tools/workspace.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

const out = process.stdout;

export interface ListOptions extends VisitOptions {
  limit: number;
  /** In the title, a name, the id or the folder; case does not count. */
  search?: string;
  /** A folder, or `true` for this one: sessions that work there or below it. */
  cwd?: string | true;
  /** Of the last session of the page before. */
  cursor?: string;
  all?: boolean;
  /** Also those that other sessions have given a task to. */
  tasks?: boolean;
}

export function listSessions(options: ListOptions): Promise<number> {
  const from = cursorOf(options.cursor);
  const folder =
    options.cwd === undefined ? undefined : workspaceFolder(options.cwd === true ? undefined : options.cwd);
  const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
  return visitStore(options, async ({ store }) => {
    const found: SessionSummary[] = [];
    for await (const session of everySession(store, from)) {
      if (found.length >= limit) break;
      if (!options.tasks && isTaskSession(session.session)) continue;
      if (isWanted(session, options.search, folder)) found.push(session);
    }
    if (options.json) for (const session of found) out.write(`${JSON.stringify(shown(session))}\n`);
    else if (found.length === 0) out.write(`${toned("quiet", wrapped(noneWords(options), out), out)}\n`);
    else printSessions(found, limit);
    return 0;
  });
}

function shown(session: SessionSummary): object {
  const waits = workspaceWait(session);
  return { ...session, status: statusOf(session), ...(waits && { waits }), cursor: cursorFor(session) };
}

function cursorFor({ updatedAt, session }: SessionSummary): string {
  return `${updatedAt}:${session}`;
}

function cursorOf(text: string | undefined): Cursor | undefined {
  if (text === undefined) return undefined;
  const [, updatedAt, session] = /^(\d+):([A-Za-z0-9_-]{1,64})$/.exec(text) ?? [];
  if (updatedAt !== undefined && session !== undefined) return { updatedAt: Number(updatedAt), session };
  throw new PawlError("INVALID_INPUT", `--cursor ${JSON.stringify(text)}: write what the page before ended with`);
}

function isWanted(
  { session, head, names = [] }: SessionSummary,
  search: string | undefined,
  folder: string | undefined,
): boolean {
  if (folder !== undefined && (head.cwd === undefined || !within(folder, head.cwd))) return false;
  if (search === undefined) return true;
  const text = search.toLowerCase();
  return [session, head.title ?? "", head.cwd ?? "", ...names].some((field) => field.toLowerCase().includes(text));
}

function noneWords({ store, search, cwd, cursor }: ListOptions): string {
  const sought = search !== undefined || cwd !== undefined || cursor !== undefined;
  return sought
    ? `no such session in ${storeWords(store)}; \`pawl sessions --all\` lists them`
    : `no sessions in ${storeWords(store)}; \`pawl run\` makes one`;
}

/** Derived from the open turn and the lease, never stored: a dead driver's session is not running. */
function statusOf(session: SessionSummary): string {
  const { head, lease } = session;
  if (workspaceWait(session)) return "waiting";
  if (head.openTurn !== undefined) return lease ? "running" : "interrupted";
  // What was posted and not begun says more than how the turn before ended.
  if (session.waitingSince !== undefined) return "waiting";
  return head.outcome ?? "new";
}

const toneOf: { [status: string]: Tone } = { completed: "good", running: "strong", new: "quiet" };

function printSessions(sessions: readonly SessionSummary[], limit: number): void {
  const widest = (texts: string[]) => Math.max(...texts.map((text) => text.length));
  const ids = widest(sessions.map(({ session }) => session));
  const states = widest(sessions.map(statusOf));
  for (const session of sessions) {
    const status = statusOf(session);
    const head = `${session.session.padEnd(ids)}  ${moment(session.updatedAt).slice(0, 16)}  `;
    const called = session.names ? `[${session.names.join(", ")}] ` : "";
    const waits = workspaceWait(session);
    const why = waits ? `(for workspace ${line(waits.workspace, 32)}) ` : "";
    const title = line(
      called + why + (session.head.title ?? ""),
      Math.max(16, columnsOf(out) - head.length - states - 3),
    );
    out.write(`${head}${toned(toneOf[status] ?? "warn", status.padEnd(states), out)}  ${title}\n`);
  }
  const last = sessions.at(-1);
  if (sessions.length === limit && last)
    out.write(
      `${toned("quiet", wrapped(`the latest ${limit}; more with --limit, --all, or --cursor ${cursorFor(last)}`, out), out)}\n`,
    );
}
