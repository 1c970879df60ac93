/**
 * Runs a row's cases, each in a fresh process, in alternating order.
 *
 * Owns: processes, their folders, their deadline; all are gone when it returns or is told to stop. A case never shares
 * a process with another: compiled code, a grown heap and open files of one would be the other's gift or burden.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Figures, type Judged, judge, type Row, type Side } from "./row.ts";

export interface RunOptions {
  rounds: number;
  /** Where the cases' folders are made. Its disk is part of what B1, F1 and F2 measure. */
  dir: string;
  signal: AbortSignal;
}

/** A case takes seconds; one that hangs must not hang the bench. */
const caseMs = 180_000;
const caseFile = fileURLToPath(new URL("./case.ts", import.meta.url));

export async function runRow(row: Row, { rounds, dir, signal }: RunOptions): Promise<Judged> {
  const measured: { baseline: Figures; ours: Figures }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0 ? "baseline" : "ours";
    const one = await runCase(row.name, first, dir, signal);
    const other = await runCase(row.name, first === "baseline" ? "ours" : "baseline", dir, signal);
    measured.push(first === "baseline" ? { baseline: one, ours: other } : { baseline: other, ours: one });
  }
  return judge(row, measured);
}

async function runCase(name: string, side: Side, parent: string, signal: AbortSignal): Promise<Figures> {
  const dir = await mkdtemp(join(parent, "pawl-bench-"));
  try {
    return JSON.parse(
      await output([name, side, dir], AbortSignal.any([signal, AbortSignal.timeout(caseMs)])),
    ) as Figures;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** What a case prints on stdout. Rejects for any exit but 0, after the process is gone. */
function output(args: readonly string[], signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, ["--expose-gc", caseFile, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    signal,
    killSignal: "SIGKILL",
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  // Stopped by us, or not started at all: `close` follows and says so.
  child.on("error", () => {});
  child.on("close", (code, killed) => {
    if (code === 0) resolve(text);
    else reject(new Error(`case ${args.slice(0, 2).join(" ")} ended with ${killed ?? `exit code ${code}`}`));
  });
  return promise;
}
