/** `pawl export ID [--out FILE]`: a session as lines of JSON, whole or not at all. */
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { exportSession, PawlError, type Runtime } from "@pawl/core";
import { addressOf } from "./address.ts";
import { familyOf } from "./copy.ts";
import { commandLine } from "./next-command.ts";
import { visitStore } from "./visit.ts";

export interface TransferOptions {
  store?: string;
  json?: boolean;
}

/** To standard output, or to a file that is there only once it is whole. */
export function exportToFile(address: string, options: TransferOptions & { out?: string }): Promise<number> {
  return visitStore(options, async (runtime) => {
    const id = await addressOf(runtime, address);
    const lines = exportSession(runtime.store, id);
    if (options.out === undefined) await print(lines);
    else say(options, { session: id, file: options.out, lines: await writeFile(options.out, lines) });
    await tellTasks(runtime, id, options);
    return 0;
  });
}

/** Each is a session of its own. The file is whole, whatever becomes of counting them. */
async function tellTasks(runtime: Runtime, id: string, { store }: TransferOptions): Promise<void> {
  const count = (await familyOf(runtime, id).catch(() => [id])).length - 1;
  if (count === 0) return;
  const [tasks, them] =
    count === 1
      ? ["1 task of it is a session of its own", "it"]
      : [`${count} tasks of it are sessions of their own`, "them"];
  const copy = commandLine(["copy", id, "--to", "DIR"], [["--store", store]]);
  process.stderr.write(`pawl: ${tasks} and not in this export; with ${them}: ${copy}\n`);
}

async function print(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    if (process.stdout.write(`${line}\n`)) continue;
    await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
  }
}

async function writeFile(path: string, lines: AsyncIterable<string>): Promise<number> {
  if (existsSync(path)) throw new PawlError("INVALID_INPUT", `${path} exists; name another file with --out`);
  const draft = `${path}.${process.pid}.draft`;
  const file = await open(draft, "wx", 0o600).catch((error: Error) => {
    throw new PawlError("INVALID_INPUT", `cannot write ${path} (${error.message}); name another file with --out`);
  });
  let count = 0;
  try {
    for await (const line of lines) {
      await file.appendFile(`${line}\n`);
      count += 1;
    }
    await file.sync();
    await rename(draft, path);
    return count;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

function say({ json }: TransferOptions, told: { session: string; file: string; lines: number }): void {
  const words = `exported session ${told.session} to ${told.file}, ${told.lines} lines`;
  process.stdout.write(json ? `${JSON.stringify({ ok: true, ...told })}\n` : `${words}\n`);
}
