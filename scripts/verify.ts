/**
 * Everything, the same here and in CI: types, lint, tidy, all tests, examples. Ends with `N passed, N failed`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, sources } from "./source.ts";

let passed = 0;
let failed = 0;

function run(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  return status === 0;
}

/** A check that counts as one. */
function check(name: string, command: string, args: readonly string[]): void {
  process.stdout.write(`\n── ${name}\n`);
  if (run(command, args)) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`✖ ${name} failed\n`);
  }
}

/** Test files by node's own runner; the counts come from its TAP report. */
function tests(files: readonly string[]): void {
  process.stdout.write(`\n── tests (${files.length} files)\n`);
  const folder = mkdtempSync(join(tmpdir(), "pawl-verify-"));
  const tap = join(folder, "report.tap");
  const ok = run(process.execPath, [
    "--test",
    "--test-concurrency=2",
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=tap",
    `--test-reporter-destination=${tap}`,
    ...files,
  ]);
  const report = readFileSync(tap, "utf8");
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(report)?.[1] ?? 0);
  passed += count("pass");
  const bad = count("fail") + count("cancelled");
  failed += bad;
  // A run that failed without a failing test (a crash of the runner) is a failure all the same.
  if (!ok && bad === 0) failed += 1;
  rmSync(folder, { recursive: true });
}

const bin = join(root, "node_modules", ".bin");
check("types", join(bin, "tsc"), ["--noEmit"]);
check("lint", join(bin, "biome"), ["check", "--error-on-warnings", "."]);
tests(
  sources()
    .map(({ path }) => path)
    .filter((path) => path.endsWith(".test.ts")),
);
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
