/**
 * `npm run bench [-- ROW ...] [--quick] [--json] [--dir FOLDER]`: what the runtime costs, in ratios to a baseline of
 * the same run. Exit code 0 when every row was measured, whatever its mark; 1 when one could not be; 2 for bad input.
 */
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { Fixtures } from "./fixture.ts";
import { asJson, heading, machine, told } from "./report.ts";
import { rows } from "./rows.ts";
import { runRow } from "./runner.ts";

/** Odd, so that the median is a round that happened. */
const fullRounds = 5;
const quickRounds = 3;
/** Linux's magic number of tmpfs. */
const memoryFileSystem = 0x01021994;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      dir: { type: "string", default: tmpdir() },
    },
  });
  const names =
    positionals.length > 0
      ? [...new Set(positionals.flatMap((name) => rowsOf(name.toUpperCase())))]
      : Object.keys(rows);
  const rounds = values.quick ? quickRounds : fullRounds;
  const { type } = await statfs(values.dir).catch(() => {
    throw new TypeError(`--dir ${values.dir} is no folder that can be used`);
  });
  if (!values.json) process.stdout.write(`${machine(rounds, type === memoryFileSystem)}\n${heading()}\n`);

  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const fixtures = new Fixtures(values.dir, stop.signal);
  let code = 0;
  for (const name of names) {
    if (stop.signal.aborted) break;
    try {
      const row = await rows[name]?.();
      if (!row) continue;
      const judged = await runRow(row, { rounds, dir: values.dir, fixtures, signal: stop.signal });
      process.stdout.write(`${values.json ? asJson(judged) : told(judged)}\n`);
    } catch (error) {
      if (!stop.signal.aborted)
        process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
      code = 1;
    }
  }
  await fixtures.remove();
  return stop.signal.aborted ? 130 : code;
}

/** `C1` is also its further measures, C1L and the like. */
function rowsOf(name: string): string[] {
  const found = Object.keys(rows).filter((row) => row === name || row.slice(0, -1) === name);
  if (found.length === 0) throw new TypeError(`there is no row ${name}; rows: ${Object.keys(rows).join(", ")}`);
  return found;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`bench: ${error.message}\n`);
  process.exitCode = 2;
}
