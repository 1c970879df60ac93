/** `pawl delete`: a session goes, once whoever asked for it has seen what that is. */
import type { LogEntry, Runtime, SessionSummary } from "@pawl/core";
import { addressOf } from "./address.ts";
import { elsewhereWords, keysOf, outputsElsewhere, removeOutputs } from "./command-output-files.ts";
import { type ConsentOptions, consented, demandConsent } from "./consent.ts";
import { exitOfOutcome } from "./exit.ts";
import { holdIdle } from "./idle-session.ts";
import { readable } from "./readable.ts";
import { everySession } from "./session-pages.ts";
import { forgetSnapshots } from "./snapshot/upkeep.ts";
import { counted, line, moment, wrapped } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export function deleteSession(address: string, options: VisitOptions & ConsentOptions): Promise<number> {
  demandConsent("deleting a session cannot be undone", options);
  return visitStore(options, async (runtime) => {
    const session = await addressOf(runtime, address);
    const summary = await runtime.store.get(session);
    // Damaged, it may be deleted all the same.
    const { entries } = await readable(runtime, session);
    const begins = (summary?.parent?.seq ?? 0) + 1;
    const forks = await forksOf(runtime, session, begins);
    if (!options.json) process.stderr.write(described(session, summary, entries, forks));
    if (!(await consented("Delete it? This cannot be undone.", options))) {
      process.stderr.write("nothing was deleted\n");
      return exitOfOutcome("aborted");
    }
    await deleteIdle(runtime, session);
    // A fork reads the results that point at these files, also one that was made while a person thought about it.
    const read = forks.length > 0 || (await forksOf(runtime, session, begins)).length > 0;
    if (!read) await forgetSnapshots(options.store, session, entries);
    const outputs = read ? 0 : await removeOutputs(options.store, keysOf(entries, session));
    const rest =
      forks.length > 0
        ? `; the records that ${counted(forks.length, "fork")} ${forks.length === 1 ? "begins" : "begin"} with stay until the last of them goes`
        : "";
    const words = `deleted session ${session}${rest}\n`;
    process.stdout.write(options.json ? `${JSON.stringify({ ok: true, session, forks, outputs })}\n` : words);
    const elsewhere = read || options.json ? [] : elsewhereWords(outputsElsewhere(options.store, entries, session));
    for (const each of elsewhere) process.stderr.write(`${wrapped(each, process.stderr)}\n`);
    return 0;
  });
}

function described(
  session: string,
  summary: SessionSummary | undefined,
  entries: readonly LogEntry[],
  forks: readonly string[],
): string {
  const title = summary?.head.title === undefined ? "" : ` · ${line(summary.head.title, 40)}`;
  const used = summary === undefined ? "" : ` · last used ${moment(summary.updatedAt)}`;
  const lines = [`${session}${title} · ${counted(entries.length, "event")}${used}`];
  if (forks.length > 0) {
    const verb = forks.length === 1 ? "begins" : "begin";
    lines.push(
      `  ${counted(forks.length, "fork")} ${verb} with its records and can still be read and driven: ${forks.join(", ")}`,
    );
  }
  if (summary?.head.openTurn !== undefined)
    lines.push("  its last turn was interrupted; `pawl resume` would go on inside it");
  return lines.map((each) => `${wrapped(each, process.stderr)}\n`).join("");
}

/** Sessions that begin with records of this one, whose own begin at seq `begins`: forks, and forks of deleted forks. */
export async function forksOf({ store }: Runtime, session: string, begins: number): Promise<string[]> {
  const forks: string[] = [];
  for await (const each of everySession(store)) {
    if (!each.parent || each.session === session) continue;
    const [record] = await store.read(each.session, { after: begins - 1, limit: 1 });
    if (record?.session === session) forks.push(each.session);
  }
  return forks;
}

/** Nobody may be driving it, nor begin to. */
async function deleteIdle(runtime: Runtime, session: string): Promise<void> {
  const release = await holdIdle(runtime, session);
  try {
    await runtime.store.delete(session);
  } finally {
    await release();
  }
}
