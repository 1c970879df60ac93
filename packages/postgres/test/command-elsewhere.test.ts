/**
 * R61: a command on one machine, its session in PostgreSQL, its recovery on another machine: real supervisors, a process that is killed, and
 * a take-over as soon as the database sees that it has gone.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import postgres from "postgres";
import { commandsOf } from "../../cli/test/supervisor-machine.ts";
import { CrashWorld, killed, waiting } from "../../cli/test/supervisor-world.ts";
import { PostgresServer, untilJudged } from "./server.ts";

const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1 });
await untilJudged(sql);
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

for (const [moment, trap, made] of [
  ["directly after the entry", "entered", "entered"],
  ["in the middle of the command", "none", "ready"],
] as const) {
  test(`R61: alpha is killed ${moment}: beta does not know, says where to look, and runs nothing`, async (t) => {
    await sql.unsafe(`CREATE DATABASE at_${trap}`);
    const world = new CrashWorld(t, server.url(`at_${trap}`));
    world.tools(commandsOf(world.top, "beta"));
    const host = world.host(trap, waiting, 60_000, "alpha");
    await world.made(made);
    await killed(host);
    const ran = world.ran;
    const { by, text } = await world.resume("beta");
    assert.equal(by, "recovery");
    assert.match(text, /^TOOL_OUTCOME_UNKNOWN: This call was started on the host alpha, /);
    assert.ok(text.includes(` on alpha, at ${join(commandsOf(world.top, "alpha"), "")}`), text);
    assert.equal(world.ran, ran);
    if (made === "ready") world.letGoOn("word");
  });
}
