/** `pawl export ID [--out FILE]`, `pawl import FILE [--session ID]`: a session as lines of JSON, whole or not at all. */
import { createReadStream, existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { exportSession, importSession, PawlError } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { readerGone } from "./exit.ts";
import { storeFolder } from "./place.ts";

export interface TransferOptions {
  store?: string;
  json?: boolean;
}

/** To standard output, or to a file that is there only once it is whole. */
export async function exportToFile(id: string, options: TransferOptions & { out?: string }): Promise<number> {
  const dir = storeFolder(options.store);
  // Looking must not make a store where there is none.
  if (!existsSync(join(dir, "pawl.db"))) {
    throw new PawlError("SESSION_NOT_FOUND", `there is no store in ${dir}, so no session ${id}; name one with --store`);
  }
  const { store } = await openRuntime({ dir });
  try {
    const lines = exportSession(store, id);
    if (options.out === undefined) await print(lines);
    else say(options, { session: id, file: options.out, lines: await writeFile(options.out, lines) });
    return 0;
  } finally {
    await store.close();
  }
}

async function print(lines: AsyncIterable<string>): Promise<void> {
  process.stdout.on("error", () => process.exit(readerGone));
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

export async function importFromFile(path: string, options: TransferOptions & { session?: string }): Promise<number> {
  const input = createReadStream(path, "utf8");
  await new Promise<void>((resolve, reject) => {
    input.once("open", () => resolve());
    input.once("error", (error) => reject(new PawlError("INVALID_INPUT", `cannot read ${path} (${error.message})`)));
  });
  const { store, effects } = await openRuntime({ dir: storeFolder(options.store) });
  try {
    const given = options.session === undefined ? {} : { session: options.session };
    const session = await importSession(store, linesOf(input), { ...given, now: effects.clock.now() });
    say(options, { session, file: path });
    return 0;
  } finally {
    input.destroy();
    await store.close();
  }
}

/** Newlines alone end a line: other programs' line readers also break at signs that may stand inside JSON text. */
async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest: string[] = [];
  for await (const chunk of input) {
    const [head = "", ...more] = chunk.split("\n");
    rest.push(head);
    for (const text of more) {
      yield rest.join("");
      rest = [text];
    }
  }
  yield rest.join("");
}

function say({ json }: TransferOptions, told: { session: string; file: string; lines?: number }): void {
  const words =
    told.lines === undefined
      ? `imported session ${told.session} from ${told.file}`
      : `exported session ${told.session} to ${told.file}, ${told.lines} lines`;
  process.stdout.write(json ? `${JSON.stringify({ ok: true, ...told })}\n` : `${words}\n`);
}
