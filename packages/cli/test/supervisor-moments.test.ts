/**
 * R61: the matrix. Whatever file of the call has just appeared, and whether the supervisor dies with the runtime or not: the command ran
 * at most once, and what is said of it is true.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CrashWorld, gone, killed, type Settled } from "./supervisor-world.ts";

const moments = ["request.json", "claim", "group", "output", "exit.json"];

for (const moment of moments) {
  test(`R61: the runtime is killed when ${moment} appears`, async (t) => {
    const world = new CrashWorld(t);
    const host = world.host("open", "echo ran >> count; echo said");
    await called(world, moment, host);
    const supervisor = childOf(host);
    await killed(host);
    const settled = await world.resume();
    assert.notEqual(verdict(settled, world), "unknown");
    // Whatever it still had to hear, it starts nothing now.
    if (supervisor !== undefined) await gone(supervisor);
    verdict(settled, world);
  });

  test(`R61: runtime and supervisor are killed when ${moment} appears`, async (t) => {
    const world = new CrashWorld(t);
    const host = world.host("open", "echo ran >> count; echo said");
    await called(world, moment, host);
    const supervisor = childOf(host);
    host.kill("SIGKILL");
    if (supervisor !== undefined) process.kill(supervisor, "SIGKILL");
    await killed(host);
    if (supervisor !== undefined) await gone(supervisor);
    verdict(await world.resume(), world);
  });
}

/** Looks as fast as it can: a watcher would see most of these files only when the command is over. */
async function called(world: CrashWorld, name: string, host: ChildProcess): Promise<void> {
  for (;;) {
    const calls = existsSync(world.commandDir) ? readdirSync(world.commandDir, { withFileTypes: true }) : [];
    const folder = calls.find((entry) => entry.isDirectory());
    if (folder && existsSync(join(world.commandDir, folder.name, name))) return;
    assert.equal(host.exitCode, null, "the host must not get to its end unseen");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The supervisor, which may not have been started yet. Quick: the command takes but a moment. */
function childOf({ pid }: ChildProcess): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return child === "" || child === undefined ? undefined : Number(child);
}

function verdict({ by, text, isError }: Settled, world: CrashWorld): "done" | "not-done" | "unknown" {
  if (text.startsWith("TOOL_NOT_STARTED")) {
    assert.deepEqual([by, isError, world.ran], ["reconcile", true, 0]);
    return "not-done";
  }
  if (text.startsWith("TOOL_OUTCOME_UNKNOWN")) {
    assert.ok(world.ran <= 1);
    return "unknown";
  }
  // It may have been recorded by the body itself before the kill.
  assert.ok(["reconcile", "tool"].includes(by));
  assert.deepEqual([text, isError, world.ran], ["said\n[exit code 0]", false, 1]);
  return "done";
}
