/** The README's program is the file that runs here. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { PostgresServer } from "../../postgres/test/server.ts";

const example = join(import.meta.dirname, "example-queue.ts");

test("the example runs as it is shown", { timeout: 120_000 }, async () => {
  const page = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const [, shown] = page.match(/```ts\n([\s\S]*?)```/) ?? [];
  assert.equal(shown, readFileSync(example, "utf8"));
  const server = await PostgresServer.start();
  try {
    const env = { ...process.env, DATABASE_URL: server.url("postgres") };
    const child = spawn(process.execPath, [example], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [said, wrong] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    assert.equal(said, "completed\n0 turns failed\n", wrong);
    assert.equal(child.exitCode, 0);
  } finally {
    await server.end();
  }
});
