/**
 * `node packages/simulation/src/fuzz.ts --seconds 60`: everything that reads bytes of others, searched for inputs that break it.
 *
 *   --target NAME   codec, transfer, import, wire, repair or permission (default: each of them in turn), or the
 *                   path of a module, such as packages/cli/test/fuzz-configuration.ts
 *   --seconds N     per target (default 60)
 *   --seed N        where the chance comes from (default 1)
 *   --input BASE64  with --target: this one input, and what becomes of it
 *
 * A failure is printed with its input; what reads it must end in time, with an answer that holds or with an error of Pawl's own.
 */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { targetNames, targetOf } from "./fuzz-target.ts";
import type { Findings, Search } from "./fuzz-worker.ts";

/** Twice as much as any input is long. */
const sharedBytes = 65_536;
/** One execution takes milliseconds, on a busy machine a second. */
const hangMs = 30_000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      target: { type: "string" },
      seconds: { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
      input: { type: "string" },
    },
  });
  const names = values.target === undefined ? targetNames : [values.target];
  if (values.input !== undefined) {
    await (await targetOf(names[0] ?? "")).run(new Uint8Array(Buffer.from(values.input, "base64")));
    console.log("nothing wrong");
    return 0;
  }
  let failures = 0;
  for (const target of names) {
    const found = await search({ target, seconds: Number(values.seconds), seed: Number(values.seed) });
    tell(target, found);
    failures += found.failures.length;
  }
  return failures === 0 ? 0 : 1;
}

/** Searches one target in a thread of its own, which is given up where an execution does not end. */
export async function search(what: Omit<Search, "shared">): Promise<Findings> {
  const shared = new SharedArrayBuffer(8 + sharedBytes);
  const worker = new Worker(new URL("./fuzz-worker.ts", import.meta.url), { workerData: { ...what, shared } });
  const { promise, resolve, reject } = Promise.withResolvers<Findings>();
  worker.once("message", resolve);
  worker.once("error", reject);
  const head = new Int32Array(shared, 0, 2);
  let before = -1;
  const watch = setInterval(() => {
    const count = Atomics.load(head, 0);
    // Before the first one the target is still being made.
    if (count === 0 || count !== before) before = count;
    else resolve(hung(count, Buffer.from(new Uint8Array(shared, 8, head[1])).toString("base64")));
  }, hangMs);
  try {
    return await promise;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

function hung(executions: number, base64: string): Findings {
  const words = `did not end within ${hangMs} ms`;
  return { executions, corpus: 0, blocks: 0, slowest: { ms: hangMs, base64 }, failures: [{ words, times: 1, base64 }] };
}

function tell(target: string, { executions, corpus, blocks, slowest, failures }: Findings): void {
  const words = `${executions} executions, corpus ${corpus}, ${blocks} blocks, slowest ${Math.round(slowest.ms)} ms`;
  console.log(`${target}: ${words}, ${failures.length} failures`);
  if (slowest.ms > 200) console.log(`  slowest: ${slowest.base64}`);
  for (const { words: what, times, base64 } of failures) {
    console.log(`  FAILED ${times} times: ${what.split("\n").slice(0, 40).join("\n    ")}`);
    console.log(`    again: --target ${target} --input ${base64}`);
  }
}

if (import.meta.main) process.exitCode = await main();
