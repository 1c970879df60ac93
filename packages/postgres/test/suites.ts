/**
 * Core's own test files on PostgreSQL, as they are: each that opens a store, and for each that cannot, why. By itself it runs
 * them all, with every case: `npm run suites -- [--one-of N] [FILE...]`.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PostgresServer } from "./server.ts";

const core = fileURLToPath(new URL("../../core/test/", import.meta.url));
const ground = fileURLToPath(new URL("./ground.ts", import.meta.url));

/** Files that do not run on PostgreSQL, each with the reason. */
export const elsewhere: { readonly [file: string]: string } = {
  "store-memory.test.ts": "the contract on the memory store; store-contract.test.ts here is the same on PostgreSQL",
  "store-sqlite.test.ts": "the contract on SQLite; store-contract.test.ts here is the same on PostgreSQL",
  "store-sqlite-file.test.ts": "what lies in SQLite's file, and who may read it",
  "store-sqlite-process.test.ts": "processes that share SQLite's file; worker-fleet.test.ts has them on PostgreSQL",
  "store-migration.test.ts": "SQLite's formats; store-schema.test.ts has PostgreSQL's",
  "store-disk.test.ts":
    "SQLite on a full, busy, read-only or network disk; store-fault.test.ts has a server that is away",
  "store-torn.test.ts": "SQLite's files cut at every byte; a server mends its own log",
  "store-delete.test.ts": "killed inside SQLite's own delete, and doctor on its folder",
  "store-doctor.test.ts": "holes are made in SQLite's file by hand; turn-repaired.test.ts mends holes on any store",
  "store-takeover.test.ts":
    "locks of SQLite's file; store-fault.test.ts and worker-fleet.test.ts take over on PostgreSQL",
};

/** Files of which only a whole run is made, each with the reason. */
export const wholeRunsOnly: { readonly [file: string]: string } = {
  "wire-boundary.test.ts": "the wire is what it tests; turn-wire and wire-field do so in every run",
};

const asks =
  "counts what a watcher asks for without news; PostgreSQL gives hints for nothing, too, as the contract allows";
/** What is skipped inside a file, by title, with the reason. */
export const skippedTests: { readonly [title: string]: string } = {
  "an idle session and one whose tool runs are not asked about, and a watcher that leaves leaves nothing": asks,
  "nobody drives what a dead driver left: nothing is asked for": asks,
  "a long silence of the model is looked at twice a second, no more": asks,
};

const opensStore = /new TurnWorld\(|\b(?:ground|worldOf|memoryStore|sqliteStore)\(/;

/** Files of core that open a store. */
export function storeFiles(): string[] {
  const tests = readdirSync(core).filter((file) => file.endsWith(".test.ts"));
  return tests.filter((file) => opensStore.test(readFileSync(join(core, file), "utf8")));
}

/** Those that run here. */
export function suites(): string[] {
  return storeFiles().filter((file) => !Object.hasOwn(elsewhere, file));
}

export interface SuiteRun {
  passed: number;
  failed: number;
  /** Titles of the tests that were skipped. */
  skipped: string[];
  /** How many stores were opened on PostgreSQL. */
  worlds: number;
  output: string;
}

/** Runs one file in a process of its own. `oneOf`: of so many cases one, where a file tries out all of them. */
export async function runSuite(file: string, { url, oneOf }: { url: string; oneOf: number }): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-suite-"));
  const report = join(folder, "worlds");
  const env = { ...process.env, PAWL_GROUND_URL: url, PAWL_GROUND_ONE_OF: `${oneOf}`, PAWL_GROUND_REPORT: report };
  // A child of a test would report to its parent's runner, and not to us.
  delete (env as NodeJS.ProcessEnv)["NODE_TEST_CONTEXT"];
  const args = ["--import", ground, "--test-reporter=tap", join(core, file)];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"], cwd: dirname(core) });
  const [output, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
  const worlds = existsSync(report) ? Number(readFileSync(report, "utf8")) : 0;
  rmSync(folder, { recursive: true });
  return {
    passed: count("pass"),
    // A file that did not come to its own count has failed, whatever it said.
    failed: count("fail") + count("cancelled") + (count("tests") > 0 ? 0 : 1),
    skipped: [...output.matchAll(/^ *ok \d+ - (.*) # SKIP/gm)].map(([, title = ""]) => title.replaceAll("\\", "")),
    worlds,
    output: output + said,
  };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { "one-of": { type: "string", default: "1" } },
    allowPositionals: true,
  });
  const server = await PostgresServer.start();
  const sum = { passed: 0, failed: 0, worlds: 0 };
  const began = performance.now();
  try {
    for (const file of positionals.length > 0 ? positionals : suites()) {
      const from = performance.now();
      const run = await runSuite(file, { url: server.url("postgres"), oneOf: Number(values["one-of"]) });
      const { passed, failed, worlds } = run;
      if (!(failed === 0 && worlds > 0)) console.log(run.output);
      const seconds = ((performance.now() - from) / 1_000).toFixed(1);
      console.log(`${file}: ${passed} passed, ${failed} failed, ${worlds} stores, ${seconds} s`);
      sum.passed += passed;
      sum.failed += failed + (worlds > 0 ? 0 : 1);
      sum.worlds += worlds;
    }
  } finally {
    await server.end();
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.worlds} stores, ${seconds} s`);
  for (const [file, why] of Object.entries(elsewhere)) console.log(`not run: ${file}: ${why}`);
  return sum.failed === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
