/**
 * How much of the pure decisions their own tests hold: each is changed in small ways, and a test has to notice.
 *
 *     node scripts/mutate.ts                 all of them
 *     node scripts/mutate.ts decide plan     the files whose path has one of these words
 *
 * Ends with an error where a file is below `least`; what survives is printed with its place. The mutator is fetched by
 * npx at a pinned version, so that nobody who only installs the project pays for it. This file is its own plugin there:
 * the tests run in one process, without node's runner, since thousands of processes would take hours. So it takes tests
 * that need no more of `node:test` than `describe`, `it` and `test`, and that leave nothing behind.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { root } from "./source.ts";

const mutator = "@stryker-mutator/core@10.1.1";
/** Percent of a file's mutants that its tests have to notice. */
const least = 90;

/** Which tests have to notice a change in which files: the ones beside them, not whatever happens to pass through. */
const groups: { sources: string[]; tests: string[] }[] = [
  { sources: ["attempt/decide", "attempt/exposure"], tests: ["attempt-decide"] },
  { sources: ["attempt/failure", "attempt/transport-word"], tests: ["attempt-classify"] },
  { sources: ["attempt/verdict"], tests: ["attempt-decide", "attempt-assemble"] },
  { sources: ["attempt/status", "attempt/phrase", "attempt/retry-after"], tests: ["attempt-retry-after"] },
  { sources: ["tool/plan"], tests: ["tool-plan"] },
  { sources: ["tool/settle", "tool/pending"], tests: ["tool-settle"] },
  { sources: ["turn/decide"], tests: ["turn-decide"] },
  { sources: ["turn/close"], tests: ["turn-close"] },
  { sources: ["turn/queue"], tests: ["turn-queue"] },
  { sources: ["turn/compaction"], tests: ["turn-decide"] },
  {
    sources: ["projection", "compaction", "assistant", "message", "target", "wire-id"].map((name) => `context/${name}`),
    tests: ["context-projection", "context-compaction", "context-replay"],
  },
  { sources: ["log/check", "log/shape"], tests: ["log-check"] },
  { sources: ["log/salvage"], tests: ["log-salvage"] },
  { sources: ["log/redaction"], tests: ["log-redaction"] },
  { sources: ["tool/permission", "tool/pattern"], tests: ["tool-permission"] },
  { sources: ["turn/told"], tests: ["turn-told"] },
];

const core = "packages/core";
const sourcePath = (name: string) => `${core}/src/${name}.ts`;
const testPath = (name: string) => `${core}/test/${name}.test.ts`;

// ── the plugin: a runner of tests in one process ────────────────────────────────────────────────────────────────────

interface Test {
  id: string;
  file: string;
  run: (context: object) => unknown;
}

interface Result {
  id: string;
  name: string;
  fileName: string;
  timeSpentMs: number;
  /** 0: passed, 1: failed. */
  status: 0 | 1;
  failureMessage?: string;
}

interface Namespace {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: object; perTest: object };
}

interface MutantRun {
  activeMutant: { id: string; fileName: string };
  testFilter?: string[];
  hitLimit?: number;
  /** `static`: from before the files load. */
  mutantActivation: "runtime" | "static";
}

const global = globalThis as { __stryker__?: Namespace; collectTest?: object };

/** Tests of the files, collected by what stands for `node:test`, which a run of all of them leaves alone. */
class Suite {
  #tests: Test[] = [];
  #path: string[] = [];
  #file = "";

  async load(file: string, generation: number): Promise<Test[]> {
    this.#tests = [];
    this.#file = file;
    global.collectTest = this.#collectors();
    await import(`${pathToFileURL(resolve(file))}?generation=${generation}`);
    return this.#tests;
  }

  #collectors(): object {
    const group = (name: string, body: () => void) => {
      this.#path.push(name);
      body();
      this.#path.pop();
    };
    const one = (name: string, body: Test["run"]) => {
      const path = [this.#file, ...this.#path, name].join(" > ");
      const same = this.#tests.filter(({ id }) => id === path || id.startsWith(`${path} #`)).length;
      this.#tests.push({ id: same === 0 ? path : `${path} #${same + 1}`, file: this.#file, run: body });
    };
    return { describe: group, suite: group, it: one, test: one };
  }
}

const runnerSource = "export const { describe, suite, it, test } = globalThis.collectTest;";

/** Each generation of the files is loaded anew: what runs while a module loads can be changed, too. */
function loadByGeneration(folder: string): void {
  const base = pathToFileURL(`${folder}/`).href;
  const stripped = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, next) {
      const generation = /\?generation=\d+$/.exec(context.parentURL ?? "")?.[0];
      if (specifier === "node:test" && generation)
        return { url: `collect:tests${generation}`, format: "module", shortCircuit: true };
      const found = next(specifier, context);
      const ours = generation && found.url.startsWith(base) && !found.url.includes("/node_modules/");
      return ours && !found.url.includes("?") ? { ...found, url: found.url + generation } : found;
    },
    load(url, context, next) {
      if (url.startsWith("collect:")) return { format: "module", source: runnerSource, shortCircuit: true };
      const [plain = "", generation] = url.split("?generation=");
      if (generation === undefined || !plain.endsWith(".ts")) return next(url, context);
      const source = stripped.get(plain) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(plain), "utf8"));
      stripped.set(plain, source);
      return { format: "module", source, shortCircuit: true };
    },
  });
}

class Runner {
  readonly #suite = new Suite();
  readonly #files: readonly string[];
  /** Tests of files that were loaded without a mutant: generation 0. */
  readonly #clean = new Map<string, Test[]>();
  #generation = 0;

  constructor(files: readonly string[]) {
    this.#files = files;
    loadByGeneration(process.cwd());
    // The same cases every time, so that a score can be compared; what failed need not be made small.
    fc.configureGlobal({ seed: 20_261_130, endOnFailure: true });
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun() {
    const namespace = this.#namespace();
    namespace.activeMutant = undefined;
    const tests: Result[] = [];
    for (const test of await this.#load(this.#files, 0)) {
      namespace.currentTestId = test.id;
      tests.push(await resultOf(test));
      namespace.currentTestId = undefined;
    }
    return { status: "complete", tests, mutantCoverage: namespace.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }: MutantRun) {
    const namespace = this.#namespace();
    namespace.hitLimit = hitLimit;
    namespace.hitCount = hitLimit === undefined ? undefined : 0;
    const early = mutantActivation === "static";
    namespace.activeMutant = early ? activeMutant.id : undefined;
    let nrOfTests = 0;
    try {
      const tests = await this.#load(testsOf(activeMutant.fileName), early ? ++this.#generation : 0);
      namespace.activeMutant = activeMutant.id;
      for (const test of tests) {
        if (testFilter && !testFilter.includes(test.id)) continue;
        nrOfTests += 1;
        const { status, failureMessage = "" } = await resultOf(test);
        if ((namespace.hitCount ?? 0) > (hitLimit ?? 0)) return { status: "timeout", reason: "it runs in circles" };
        if (status === 1) return { status: "killed", killedBy: [test.id], failureMessage, nrOfTests };
      }
      return { status: "survived", nrOfTests };
    } catch (error) {
      // What does not even load is noticed by everything.
      return { status: "killed", killedBy: [], failureMessage: String(error), nrOfTests };
    } finally {
      namespace.activeMutant = undefined;
    }
  }

  async #load(files: readonly string[], generation: number): Promise<Test[]> {
    const tests: Test[] = [];
    for (const file of files) {
      const found = (generation === 0 && this.#clean.get(file)) || (await this.#suite.load(file, generation));
      if (generation === 0) this.#clean.set(file, found);
      tests.push(...found);
    }
    return tests;
  }

  #namespace(): Namespace {
    global.__stryker__ ??= {};
    return global.__stryker__;
  }
}

async function resultOf(test: Test): Promise<Result> {
  const begun = performance.now();
  const result = (status: 0 | 1, failure = {}): Result => ({
    id: test.id,
    name: test.id,
    fileName: test.file,
    timeSpentMs: Math.ceil(performance.now() - begun),
    status,
    ...failure,
  });
  try {
    await test.run({});
    return result(0);
  } catch (error) {
    return result(1, { failureMessage: String(error).slice(0, 500) });
  }
}

/** The tests that have to notice a change in a file. */
function testsOf(fileName: string): string[] {
  const path = fileName.replaceAll("\\", "/");
  const own = groups.filter(({ sources }) => sources.some((name) => path.endsWith(sourcePath(name))));
  return own.flatMap(({ tests }) => tests.map(testPath));
}

function runner({ decisions }: { decisions: { tests: string[] } }): Runner {
  return new Runner(decisions.tests);
}
runner.inject = ["options"];

export const strykerPlugins = [{ kind: "TestRunner", name: "decisions", factory: runner }];

// ── the command ─────────────────────────────────────────────────────────────────────────────────────────────────────

interface Mutant {
  mutatorName: string;
  replacement: string;
  status: string;
  location: { start: { line: number; column: number }; end: { line: number; column: number } };
}

type Report = { files: { [path: string]: { source: string; mutants: Mutant[] } } };

function textAt(source: string, { start, end }: Mutant["location"]): string {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  const last = lines.length - 1;
  lines[last] = lines[last]?.slice(0, end.column - 1) ?? "";
  lines[0] = lines[0]?.slice(start.column - 1) ?? "";
  return lines.join("\n");
}

/** Prints what survives in a file, and says whether enough was noticed. */
function judged(path: string, { source, mutants }: Report["files"][string]): boolean {
  const survivors = mutants.filter(({ status }) => status !== "Killed" && status !== "Timeout");
  const score = (100 * (mutants.length - survivors.length)) / (mutants.length || 1);
  const enough = score >= least;
  const endless = mutants.filter(({ status }) => status === "Timeout").length;
  const rest = `${mutants.length} mutants, ${endless} without end`;
  process.stdout.write(`${enough ? " " : "✖"} ${score.toFixed(1).padStart(5)} %  ${path}  (${rest})\n`);
  for (const { location, mutatorName, replacement, status } of survivors) {
    const { line, column } = location.start;
    const short = (text: string) => text.replace(/\s+/g, " ").slice(0, 90);
    const change = `${short(textAt(source, location))} → ${short(replacement)}`;
    process.stdout.write(`           ${line}:${column} ${status} ${mutatorName}: ${change}\n`);
  }
  return enough;
}

function main(words: readonly string[]): void {
  const wanted = (name: string) => words.length === 0 || words.some((word) => sourcePath(name).includes(word));
  const chosen = groups.map(({ sources, tests }) => ({ sources: sources.filter(wanted), tests }));
  const kept = chosen.filter(({ sources }) => sources.length > 0);
  const folder = mkdtempSync(join(tmpdir(), "pawl-mutate-"));
  const [config, report] = [join(folder, "config.json"), join(folder, "report.json")];
  const options = {
    mutate: kept.flatMap(({ sources }) => sources.map(sourcePath)),
    decisions: { tests: [...new Set(kept.flatMap(({ tests }) => tests.map(testPath)))] },
    plugins: [fileURLToPath(import.meta.url)],
    testRunner: "decisions",
    coverageAnalysis: "perTest",
    concurrency: Number(process.env["MUTATE_PROCESSES"] ?? 2),
    timeoutMS: 10_000,
    reporters: ["json", "progress-append-only"],
    jsonReporter: { fileName: report },
    // Outside of the project: who runs its other checks meanwhile must not find a second copy there.
    tempDirName: join(folder, "copies"),
    disableTypeChecks: false,
    tsconfigFile: "none.json",
    allowConsoleColors: false,
    warnings: { unknownOptions: false, slow: false },
  };
  writeFileSync(config, JSON.stringify(options));
  const stdio = ["ignore", "inherit", "inherit"] as const;
  const command = ["exec", "--yes", `--package=${mutator}`, "--", "stryker", "run", config];
  const { status } = spawnSync("npm", command, { cwd: root, stdio: [...stdio] });
  try {
    if (status !== 0) throw new Error(`the mutator ended with ${status}`);
    const { files } = JSON.parse(readFileSync(report, "utf8")) as Report;
    const verdicts = Object.entries(files).map(([path, file]) => judged(path, file));
    process.exitCode = verdicts.length > 0 && verdicts.every(Boolean) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) main(process.argv.slice(2));
