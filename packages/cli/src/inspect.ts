/** `pawl sessions`, `pawl show`, `pawl verify`: reading, without writing anything. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  booksFold,
  type LogEntry,
  memoryStore,
  type PawlError,
  type Runtime,
  runFold,
  type SessionSummary,
  verify,
} from "@pawl/core";
import { nodeEffects, openRuntime, thisHolder } from "@pawl/core/node";
import { exitOfError, lawBroken, readerGone } from "./exit.ts";
import { storeFolder } from "./place.ts";
import { readable } from "./readable.ts";
import { columnsOf, counted, line, moment, type Tone, toned } from "./style.ts";
import { printEntry } from "./summary.ts";
import { Timeline } from "./timeline.ts";
import { booksWords } from "./words.ts";

export interface InspectOptions {
  store?: string;
  json?: boolean;
}

const out = process.stdout;

function print(tone: Tone, text: string): void {
  out.write(`${toned(tone, text, out)}\n`);
}

async function withRuntime(options: InspectOptions, work: (runtime: Runtime) => Promise<number>): Promise<number> {
  // `pawl show | head`: whoever has read enough is no fault.
  out.on("error", () => process.exit(readerGone));
  const dir = storeFolder(options.store);
  // Looking must not make a store where there is none, not even inside of a folder that is there.
  const runtime = existsSync(join(dir, "pawl.db")) || isFile(dir) ? await openRuntime({ dir }) : noRuntime();
  try {
    return await work(runtime);
  } finally {
    await runtime.store.close();
  }
}

/** A file in the place of the folder: opening it fails and says so. */
function isFile(path: string): boolean {
  return existsSync(path) && !existsSync(`${path}/.`);
}

function noRuntime(): Runtime {
  const effects = nodeEffects();
  return { store: memoryStore({ clock: effects.clock }), effects, holder: thisHolder() };
}

export function listSessions(options: InspectOptions & { limit: number }): Promise<number> {
  return withRuntime(options, async ({ store }) => {
    const sessions = await store.list({ limit: options.limit });
    if (options.json)
      for (const session of sessions) out.write(`${JSON.stringify({ ...session, status: statusOf(session) })}\n`);
    else if (sessions.length === 0)
      print("quiet", `no sessions in ${storeFolder(options.store)}; \`pawl run\` makes one`);
    else printSessions(sessions, options.limit);
    return 0;
  });
}

/** Derived from the open turn and the lease, never stored: a dead driver's session is not running. */
function statusOf({ head, lease }: SessionSummary): string {
  if (head.openTurn !== undefined) return lease ? "running" : "interrupted";
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
    const title = line(session.head.title ?? "", Math.max(16, columnsOf(out) - head.length - states - 3));
    out.write(`${head}${toned(toneOf[status] ?? "warn", status.padEnd(states), out)}  ${title}\n`);
  }
  if (sessions.length === limit) print("quiet", `the latest ${limit}; more with --limit`);
}

export function showSession(id: string, options: InspectOptions): Promise<number> {
  return withRuntime(options, async (runtime) => {
    const { entries, damage } = await readable(runtime, id);
    const timeline = new Timeline(out);
    for (const entry of entries) {
      if (options.json) printEntry(entry);
      else timeline.add(entry);
    }
    if (!options.json) printEnd(entries, await runtime.store.get(id), (await runtime.store.mailbox(id)).length);
    return damage ? tellDamage(id, entries, damage) : 0;
  });
}

function printEnd(entries: readonly LogEntry[], summary: SessionSummary | undefined, posts: number): void {
  const books = runFold(booksFold, entries);
  const counts = [counted(entries.length, "event"), counted(books.turns, "turn"), counted(books.steps, "step")];
  const [cost = "", ...lost] = booksWords(books);
  print("quiet", `\n${[...counts, counted(books.tools, "tool run"), cost].join(" · ")}`);
  for (const words of lost) print("quiet", words);
  if (posts > 0) print("warn", `${counted(posts, "input")} not begun: the next run or resume takes it up first.`);
  if (!summary) return;
  const status = statusOf(summary);
  if (status === "running")
    print("strong", `running, by process ${summary.lease?.holder.pid} on ${summary.lease?.holder.host}`);
  if (status !== "interrupted") return;
  print("warn", "interrupted: its process is gone, nothing recorded is lost.");
  print("warn", `\`pawl resume ${summary.session}\` goes on inside the turn; a new \`pawl run\` closes it first.`);
}

/** One line on standard error, whatever was shown before. */
function tellDamage(id: string, entries: readonly LogEntry[], damage: PawlError): number {
  const last = entries.at(-1)?.seq ?? 0;
  process.stderr.write(
    `pawl: session ${id} is readable up to record ${last} and damaged after it (${damage.message.replace(/; .*/, "")}); ` +
      `go on in a copy: pawl run --fork-from ${id}:N, N an ended turn\n`,
  );
  return exitOfError(damage);
}

export function verifySession(id: string, options: InspectOptions): Promise<number> {
  return withRuntime(options, async (runtime) => {
    const { entries, damage } = await readable(runtime, id);
    const verdicts = verify(entries);
    const broken = verdicts.filter(({ violations }) => violations.length > 0);
    if (options.json) {
      const ok = broken.length === 0 && !damage;
      const told = damage ? { damage: { code: damage.code, message: damage.message } } : {};
      out.write(`${JSON.stringify({ ok, session: id, events: entries.length, verdicts, ...told })}\n`);
    } else {
      printVerdicts(verdicts);
      const state = damage ? "then the damage" : "checksums good";
      const count = `${counted(entries.length, "event")}, ${state}, ${broken.length} of ${verdicts.length} laws broken`;
      print(broken.length === 0 && !damage ? "quiet" : "bad", count);
    }
    if (damage) return tellDamage(id, entries, damage);
    return broken.length === 0 ? 0 : lawBroken;
  });
}

function printVerdicts(verdicts: ReturnType<typeof verify>): void {
  for (const { law, title, violations } of verdicts) {
    const good = violations.length === 0;
    print(good ? "good" : "bad", `${good ? "✓" : "✗"} ${law.padEnd(3)} ${title}`);
    for (const { seq, message } of violations) print("bad", `      at ${seq}: ${message}`);
  }
}
