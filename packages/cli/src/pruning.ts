/** `pawl prune`: sessions that have had their time go, with what was kept of them beside the log. */
import { collectBlobs, type Pruned, type PruneOptions, prune, type Runtime, type SessionSummary } from "@pawl/core";
import { elsewhereWords, keysOf, outputsElsewhere, removeOutputs } from "./command-output-files.ts";
import { type ConsentOptions, consented, demandConsent } from "./consent.ts";
import { forksOf } from "./deletion.ts";
import { exitOfOutcome } from "./exit.ts";
import { readable } from "./readable.ts";
import { forgetSnapshots } from "./snapshot/upkeep.ts";
import { counted, line, moment, wrapped } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export interface PruneCommand extends VisitOptions, ConsentOptions {
  /** ms. */
  olderThan: number;
  dryRun?: boolean;
  named?: boolean;
  interrupted?: boolean;
  blobs?: boolean;
}

/** As many as there are: the store is looked at a page at a time. */
const most = Number.MAX_SAFE_INTEGER;

export function pruneSessions(options: PruneCommand): Promise<number> {
  const { dryRun = false, json = false } = options;
  if (!dryRun) demandConsent("deleting sessions cannot be undone", options);
  const policy = {
    olderThanMs: options.olderThan,
    named: options.named ? ("delete" as const) : ("keep" as const),
    interrupted: options.interrupted ? ("delete" as const) : ("keep" as const),
  };
  return visitStore(options, async (runtime) => {
    const report = await prune(runtime, { ...policy, most, mode: "report" });
    if (!json) await describe(runtime, report);
    if (dryRun) return told(options, report, await collected(runtime, options, "report"));
    const question = `Delete ${counted(report.deleted.length, "session")}? This cannot be undone.`;
    if (report.deleted.length > 0 && !(await consented(question, options))) {
      process.stderr.write("nothing was deleted\n");
      return exitOfOutcome("aborted");
    }
    const elsewhere = new Set<string>();
    const leaving = (summary: SessionSummary) => leave(runtime, summary, options.store, elsewhere);
    const pruned = await prune(runtime, { ...policy, most, leaving } satisfies PruneOptions);
    if (!json)
      for (const each of elsewhereWords([...elsewhere])) process.stderr.write(`${wrapped(each, process.stderr)}\n`);
    return told(options, pruned, await collected(runtime, options, "delete"));
  });
}

/** What stands beside the log is found by reading it, so before it goes. */
async function leave(
  runtime: Runtime,
  { session, parent }: SessionSummary,
  store: string | undefined,
  elsewhere: Set<string>,
): Promise<() => Promise<void>> {
  // Damaged, it goes all the same.
  const { entries } = await readable(runtime, session);
  return async () => {
    // A fork reads the results that point at these files.
    if ((await forksOf(runtime, session, (parent?.seq ?? 0) + 1)).length > 0) return;
    await forgetSnapshots(store, session, entries);
    await removeOutputs(store, keysOf(entries, session));
    for (const place of outputsElsewhere(store, entries, session)) elsewhere.add(place);
  };
}

async function collected(
  runtime: Runtime,
  { blobs }: PruneCommand,
  mode: "report" | "delete",
): Promise<number | undefined> {
  return blobs ? (await collectBlobs(runtime, { mode })).removed : undefined;
}

const shownSessions = 20;

async function describe({ store }: Runtime, { deleted }: Pruned): Promise<void> {
  const shown = await Promise.all(deleted.slice(0, shownSessions).map((session) => store.get(session)));
  const lines = shown.flatMap((summary) => (summary ? described(summary) : []));
  if (deleted.length > shownSessions) lines.push(`… and ${deleted.length - shownSessions} more`);
  process.stderr.write(lines.map((each) => `${wrapped(each, process.stderr)}\n`).join(""));
}

function described({ session, head, updatedAt }: SessionSummary): string {
  const title = head.title === undefined ? "" : ` · ${line(head.title, 40)}`;
  return `${session}${title} · last used ${moment(updatedAt)}`;
}

function told({ json, dryRun }: PruneCommand, { deleted, kept }: Pruned, blobs: number | undefined): number {
  const removed = blobs === undefined ? {} : { blobs };
  if (json) {
    process.stdout.write(`${JSON.stringify({ ok: true, dryRun: dryRun === true, deleted, kept, ...removed })}\n`);
    return 0;
  }
  const stays = Object.entries(kept).flatMap(([why, count]) => (count > 0 ? `${count} ${why}` : []));
  const left = stays.length > 0 ? `; old enough and kept: ${stays.join(", ")}` : "";
  const blobWords = blobs === undefined ? "" : `; ${dryRun ? "would remove" : "removed"} ${counted(blobs, "blob")}`;
  process.stdout.write(
    `${dryRun ? "would delete" : "deleted"} ${counted(deleted.length, "session")}${left}${blobWords}\n`,
  );
  return 0;
}
