/**
 * A process for store-disk.test.ts. `fill DIR`: appends until the store refuses, and says how it went on. `read DIR`:
 * what can be read and what is refused in a folder that it cannot write. `hold DIR`: keeps the write lock until its stdin
 * ends. One JSON line each.
 */
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isPawlError } from "../src/error.ts";
import { decodeAll } from "../src/log/codec.ts";
import { nodeEffects } from "../src/node/effects.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { createSession, TestDriver } from "../src/testing/store-world.ts";

const [mode = "", dir = ""] = process.argv.slice(2);
const holder = { id: "disk", host: "here", boot: "1", pid: process.pid, start: "1" };

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

function codeOf(error: unknown): string {
  return isPawlError(error) ? error.code : String(error);
}

if (mode === "hold") {
  const lock = new DatabaseSync(join(dir, "pawl.db"));
  lock.exec("BEGIN IMMEDIATE");
  say("held");
  await once(process.stdin.resume(), "end");
  lock.exec("ROLLBACK");
  process.exit();
}

const store = await sqliteStore({ dir, ...nodeEffects(), isAlive: () => true });
if (mode === "fill") {
  await createSession(store, "s");
  const driver = await TestDriver.take(store, "s", holder, 60_000);
  const refusals: string[] = [];
  let acknowledged = 0;
  // More than the limit could ever hold; three refusals in a row are the wall.
  for (let round = 0; round < 1_000 && refusals.length < 3; round += 1) {
    await driver.append("x".repeat(10_000)).then(
      () => {
        acknowledged += 1;
      },
      (error) => refusals.push(codeOf(error)),
    );
  }
  const there = decodeAll(await store.read("s")).length - 1;
  say({ acknowledged, there, refusals });
} else {
  const entries = decodeAll(await store.read("s")).length;
  const sessions = (await store.list()).map(({ session }) => session);
  const refused = await store.acquireLease("s", holder, 1_000).then(() => "granted", codeOf);
  const blob = await store.putBlob(new Uint8Array([1])).then(() => "written", codeOf);
  say({ entries, sessions, refused, blob, readOnly: store.readOnly, warnings: store.warnings });
}
await store.close().catch((error) => say({ close: codeOf(error) }));
