/**
 * G1: how long a person waits for the program.
 *
 * Measured: time on the wall from the start of the process, `pawl --version` until it has ended (G1), `pawl chat` on a
 * pseudo-terminal until its first frame is there (G1F). Medians of several starts after a first one that fills the
 * compile cache. The score is the time itself: the limits are what a person notices. Beside: an empty node. Not measured:
 * a cold disk, the types that a published package no longer has to strip.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Figures, Row } from "./row.ts";

const bin = fileURLToPath(new URL("../packages/cli/bin/pawl.js", import.meta.url));
const starts = 7;
const prompt = "›";

export const row: Row = {
  ...{ name: "G1", measure: "pawl --version, from start to end", unit: "ms", scoreUnit: " ms", better: "lower" },
  ...{ target: 150, stretch: 80 },
  baseline: async (dir) => median(() => ended(["-e", ""], dir)),
  ours: async (dir) => median(() => ended([bin, "--version"], dir)),
  score: (_, ours) => ours.value,
};

export const frame: Row = {
  ...{
    name: "G1F",
    measure: "pawl chat, from start to its first frame",
    unit: "ms",
    scoreUnit: " ms",
    better: "lower",
  },
  ...{ target: 400, stretch: 200 },
  baseline: async (dir) =>
    median(() => shown(["-e", `process.stdout.write("${prompt}"); process.stdin.resume()`], dir)),
  ours: async (dir) => median(() => shown([bin, "chat", "--store", join(dir, "store")], dir)),
  score: (_, ours) => ours.value,
};

async function median(once: () => Promise<number>): Promise<Figures> {
  await once();
  const times: number[] = [];
  for (let n = 0; n < starts; n += 1) times.push(await once());
  return { value: times.sort((a, b) => a - b)[Math.floor(starts / 2)] ?? Number.NaN };
}

/** A home of its own, so that nobody's cache, history or sessions are touched. */
function environment(dir: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: dir, TERM: "xterm-256color" };
}

async function ended(args: readonly string[], dir: string): Promise<number> {
  const from = performance.now();
  const { status } = spawnSync(process.execPath, args, { env: environment(dir), cwd: dir, stdio: "ignore" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  return performance.now() - from;
}

async function shown(args: string[], dir: string): Promise<number> {
  const { spawn } = await import("@lydell/node-pty");
  const cwd = join(dir, "work");
  mkdirSync(cwd, { recursive: true });
  const from = performance.now();
  const child = spawn(process.execPath, args, {
    cols: 80,
    rows: 24,
    name: "xterm-256color",
    cwd,
    env: environment(dir) as Record<string, string>,
  });
  const frame = Promise.withResolvers<number>();
  const end = Promise.withResolvers<void>();
  let text = "";
  child.onData((data) => {
    text += data;
    if (text.includes(prompt)) frame.resolve(performance.now() - from);
  });
  child.onExit(() => {
    frame.reject(new Error(`it ended without a frame: ${text}`));
    end.resolve();
  });
  const time = await frame.promise;
  // Left, not killed: what it compiled is kept for the next start when it ends by itself.
  child.write("\u0004");
  await end.promise;
  return time;
}
