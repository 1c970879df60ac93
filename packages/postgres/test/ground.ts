/**
 * Puts PostgreSQL under the worlds of core's tests: `node --import ./ground.ts FILE.test.ts`, with PAWL_GROUND_URL. The file
 * itself does not know. How many worlds stood there is said at the end, in PAWL_GROUND_REPORT.
 */
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { after } from "node:test";
import postgres from "postgres";
import { standOn } from "../../core/test/ground.ts";
import { PlotGround } from "../../core/test/plot-ground.ts";
import { postgresStore } from "../src/index.ts";

const { PAWL_GROUND_URL: url, PAWL_GROUND_ONE_OF: oneOf = "1", PAWL_GROUND_REPORT: report } = process.env;
assert.ok(url, "PAWL_GROUND_URL is the database");
const tables = ["session", "record", "post", "mail", "name", "partial", "snapshot", "blob"];
const sql = postgres(url, { max: 1, onnotice: () => {} });
let schemas = 0;

const ground = await PlotGround.make({ name: "postgres", oneOf: Number(oneOf) }, async (footing) => {
  schemas += 1;
  const schema = `ground_${process.pid}_${schemas}`;
  const store = await postgresStore({
    url,
    schema,
    connections: 3,
    clock: { now: () => footing()?.effects.clock.now() ?? 0, monotonic: () => 0 },
    isAlive: (holder) => footing()?.isAlive?.(holder),
  });
  const everything = tables.map((table) => `DELETE FROM ${schema}.${table}`).join("; ");
  return { store, clear: async () => void (await sql.unsafe(everything)) };
});
standOn(ground);

after(async () => {
  if (report) appendFileSync(report, `${ground.worlds}\n`);
  await ground.close();
  await sql.end({ timeout: 1 });
});
