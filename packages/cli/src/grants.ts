/** `pawl grants`: what a person has answered for later calls of a session, too, and taking it back. */
import { type LogEntry, openSession, PawlError, type Runtime, type StandingAnswer } from "@pawl/core";
import { addressOf } from "./address.ts";
import { columnsOf, line, toned } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";
import { callWords } from "./words.ts";

const out = process.stdout;

interface Row {
  number: number;
  approval: string;
  answer: "allow" | "deny";
  tool: string;
  /** Patterns by field; null: the very same call. */
  input: { [field: string]: string } | null;
  call: string;
  scope: string;
  by: string;
  /** It is taken back, and the driver has not heard of it yet. */
  revoked: boolean;
}

export function listGrants(address: string, options: VisitOptions & { revoke?: string }): Promise<number> {
  return visitStore(options, async (runtime) => {
    const id = await addressOf(runtime, address);
    const rows = await rowsOf(runtime, id);
    const { revoke, json } = options;
    if (revoke !== undefined) {
      const row = chosen(rows, revoke, address);
      if (!row.revoked) await (await openSession(runtime, id)).revoke(row.approval, { by: "terminal" });
      out.write(
        json
          ? `${JSON.stringify({ ...row, revoked: true })}\n`
          : `Taken back: ${words(row)}. It holds for every call that is judged from now on.\n`,
      );
      return 0;
    }
    if (json) for (const row of rows) out.write(`${JSON.stringify(row)}\n`);
    else if (rows.length === 0) out.write(toned("quiet", "nothing is remembered: every question is asked\n", out));
    else for (const row of rows) print(row);
    return 0;
  });
}

function print(row: Row): void {
  const state = row.revoked ? "  (taken back)" : "";
  const head = `${row.number}  ${row.answer}  `;
  const about = `${words(row)}, ${row.scope === "forks" ? "here and in forks" : "in this session"}, by ${row.by}${state}`;
  out.write(`${head}${line(about, columnsOf(out) - head.length)}\n`);
}

function words({ tool, input, call }: Pick<Row, "tool" | "input" | "call">): string {
  if (input === null) return `exactly: ${call}`;
  const patterns = Object.entries(input).map(([field, pattern]) =>
    field === "command" || field === "path" ? pattern : `${field}: ${pattern}`,
  );
  return `${tool} ${patterns.join(", ") || "whatever it is called with"}`;
}

function chosen(rows: readonly Row[], text: string, address: string): Row {
  const row = rows.find(({ number, approval }) => String(number) === text || approval === text);
  if (row) return row;
  const known = rows.length === 0 ? "nothing is remembered" : `there are 1 to ${rows.length}`;
  throw new PawlError("INVALID_INPUT", `--revoke ${JSON.stringify(text)}: ${known}; pawl grants ${address} lists them`);
}

async function rowsOf(runtime: Runtime, id: string): Promise<Row[]> {
  const session = await openSession(runtime, id);
  const [standing, entries, posts] = [
    await session.standingAnswers(),
    await session.entries(),
    await runtime.store.mailbox(id),
  ];
  const calls = callsOf(entries);
  const revoked = new Set(posts.map(({ body }) => (body as { revoke?: unknown } | null)?.revoke));
  return standing.map(({ approval, answer, tool, input, scope, by }: StandingAnswer, at) => ({
    number: at + 1,
    approval,
    answer,
    tool,
    input: input ?? null,
    call: calls.get(approval) ?? tool,
    scope,
    by,
    revoked: revoked.has(approval),
  }));
}

/** The call that was asked about, in words, by approval. */
function callsOf(entries: readonly LogEntry[]): Map<string, string> {
  const calls = new Map<string, string>();
  const asked = new Map<string, string>();
  for (const { event } of entries) {
    if (event.type === "message.committed")
      for (const part of event.parts)
        if (part.type === "tool-call") calls.set(part.id, callWords(part.tool, part.input, 200));
    if (event.type === "approval.requested") asked.set(event.approval, calls.get(event.call) ?? event.call);
  }
  return asked;
}
