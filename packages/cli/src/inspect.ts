/** `pawl sessions`, `pawl show`, `pawl verify`: reading, without writing anything. */
import { existsSync } from "node:fs";
import {
  booksFold,
  type LogEntry,
  memoryStore,
  openSession,
  type Runtime,
  runFold,
  type SessionSummary,
  verify,
} from "@pawl/core";
import { nodeEffects, openRuntime, thisHolder } from "@pawl/core/node";
import { exitOfOutcome, lawBroken } from "./exit.ts";
import { storeFolder } from "./place.ts";
import { grouped, line, seconds, type Tone, toned } from "./style.ts";
import { callWords, decisionWords, failureWords, outcomeWords, outputText, partText } from "./words.ts";

export interface InspectOptions {
  store?: string;
  json?: boolean;
}

const out = process.stdout;

function noRuntime(): Runtime {
  const effects = nodeEffects();
  return { store: memoryStore({ clock: effects.clock }), effects, holder: thisHolder() };
}

function print(tone: Tone, text: string): void {
  out.write(`${toned(tone, text, out)}\n`);
}

async function withRuntime<T>(options: InspectOptions, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const dir = storeFolder(options.store);
  // Looking must not make a store where there is none.
  const runtime = existsSync(dir) ? await openRuntime({ dir }) : noRuntime();
  try {
    return await work(runtime);
  } finally {
    await runtime.store.close();
  }
}

export async function listSessions(options: InspectOptions & { limit: number }): Promise<number> {
  return withRuntime(options, async ({ store }) => {
    const sessions = await store.list({ limit: options.limit });
    if (options.json)
      for (const session of sessions) out.write(`${JSON.stringify({ ...session, status: statusOf(session) })}\n`);
    else if (sessions.length === 0)
      print("quiet", `no sessions in ${storeFolder(options.store)}; \`pawl run\` makes one`);
    else for (const session of sessions) printSession(session);
    return 0;
  });
}

/** Derived from the open turn and the lease, never stored: a dead driver's session is not running. */
export function statusOf({ head, lease }: SessionSummary): string {
  if (head.openTurn !== undefined) return lease ? "running" : "interrupted";
  return head.outcome ?? "new";
}

function printSession(session: SessionSummary): void {
  const status = statusOf(session);
  const tone = status === "completed" ? "good" : status === "running" ? "strong" : status === "new" ? "quiet" : "warn";
  const when = new Date(session.updatedAt).toISOString().slice(0, 16).replace("T", " ");
  out.write(
    `${session.session.padEnd(24)} ${toned(tone, status.padEnd(12), out)} ${when}  ${line(session.head.title ?? "", 60)}\n`,
  );
}

export async function showSession(id: string, options: InspectOptions): Promise<number> {
  return withRuntime(options, async (runtime) => {
    const entries = await (await openSession(runtime, id)).entries();
    if (options.json)
      for (const { seq, time, event } of entries) out.write(`${JSON.stringify({ seq, time, ...event })}\n`);
    else for (const entry of entries) printEntry(entry);
    if (!options.json) printEnd(entries, await runtime.store.get(id));
    return 0;
  });
}

function printEntry({ seq, time, event }: LogEntry): void {
  const at = new Date(time).toISOString().slice(11, 23);
  const say = (tone: Tone, text: string) =>
    out.write(`${toned("quiet", `${String(seq).padStart(5)} ${at}`, out)} ${toned(tone, text, out)}\n`);
  switch (event.type) {
    case "session.created":
      return void say(
        "strong",
        `session${event.cwd ? ` in ${event.cwd}` : ""}${event.parent ? `, forked from ${event.parent.session} at ${event.parent.seq}` : ""}`,
      );
    case "input.accepted":
      return void say("plain", `${event.kind}: ${line(event.content.map(partText).join(" "), 100)}`);
    case "turn.started":
      return void say("strong", `turn ${event.turn}`);
    case "turn.ended":
      return void say(
        event.outcome.type === "completed" ? "good" : "bad",
        `turn ended: ${outcomeWords(event.outcome)}${event.failure ? `. ${failureWords(event.failure)}` : ""}`,
      );
    case "step.started":
      return void say("plain", `  step ${event.number}`);
    case "attempt.started":
      return void say("quiet", `    attempt ${event.number} (${event.model.provider}:${event.model.id})`);
    case "attempt.ended": {
      const why = event.failure ? `. ${failureWords(event.failure)}` : "";
      const next =
        event.decision && event.failure?.kind !== "aborted"
          ? ` → ${decisionWords(event.decision, 0).replace(/ \(attempt 1\)/, "")}`
          : "";
      return void say(
        event.end === "committed" ? "quiet" : "warn",
        `    attempt ${event.end} after ${seconds(event.durationMs)}${why}${next}`,
      );
    }
    case "message.committed":
      for (const part of event.parts) {
        if (part.type === "text") say("plain", `    text: ${line(part.text, 100)}`);
        else if (part.type === "reasoning") say("quiet", `    reasoning: ${line(part.text, 100)}`);
        else if (part.type === "tool-call") say("plain", `    call ${callWords(part.tool, part.input, 100)}`);
      }
      return;
    case "tool.entered":
      return void say("quiet", `    ${event.tool} entered (${event.effect})`);
    case "tool.settled": {
      const took = event.durationMs === undefined ? "" : ` after ${seconds(event.durationMs)}`;
      return void say(
        event.output.isError ? "bad" : "quiet",
        `    settled by ${event.by}${took}: ${line(outputText(event.output), 90)}`,
      );
    }
    case "step.ended":
      return void (event.failure && say("bad", `  step failed: ${failureWords(event.failure)}`));
    default:
      return void say("quiet", `    ${event.type}`);
  }
}

function printEnd(entries: readonly LogEntry[], summary: SessionSummary | undefined): void {
  const { committed, discarded, steps, tools } = runFold(booksFold, entries);
  print(
    "quiet",
    `${entries.length} events · ${steps} steps · ${tools} tool runs · requests: ${committed.attempts} committed, ${discarded.attempts} lost · ` +
      `tokens: ${grouped(committed.tokens.input)} in, ${grouped(committed.tokens.output)} out, ` +
      `${grouped(discarded.tokens.input + discarded.tokens.output)} lost` +
      (discarded.unmeasured > 0 ? ` and ${discarded.unmeasured} unmeasured` : ""),
  );
  if (summary && statusOf(summary) === "interrupted") {
    print(
      "warn",
      `interrupted: its driver is gone. \`pawl resume ${summary.session}\` goes on inside the turn, a new \`pawl run --session ${summary.session}\` closes it first.`,
    );
  }
}

export async function verifySession(id: string, options: InspectOptions): Promise<number> {
  return withRuntime(options, async (runtime) => {
    const entries = await (await openSession(runtime, id)).entries();
    const verdicts = verify(entries);
    const broken = verdicts.filter(({ violations }) => violations.length > 0);
    if (options.json) {
      out.write(`${JSON.stringify({ ok: broken.length === 0, session: id, events: entries.length, verdicts })}\n`);
    } else {
      for (const { law, title, violations } of verdicts) {
        print(
          violations.length === 0 ? "good" : "bad",
          `${violations.length === 0 ? "✓" : "✗"} ${law.padEnd(3)} ${title}`,
        );
        for (const { seq, message } of violations) print("bad", `      at ${seq}: ${message}`);
      }
      print(
        broken.length === 0 ? "quiet" : "bad",
        `${entries.length} events, checksums good, ${broken.length} of ${verdicts.length} laws broken`,
      );
    }
    return broken.length === 0 ? exitOfOutcome("completed") : lawBroken;
  });
}
