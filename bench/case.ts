/** One case in its own process: `node --expose-gc bench/case.ts ROW baseline|ours FOLDER [FIXTURE]` prints its figures as JSON. */
import { rows } from "./rows.ts";

const [name = "", side, dir = "", fixture = ""] = process.argv.slice(2);
const load = rows[name];
if (!load || (side !== "baseline" && side !== "ours") || dir === "") {
  throw new Error(`usage: case.ts ROW baseline|ours FOLDER, got ${process.argv.slice(2).join(" ")}`);
}
const row = await load();
process.stdout.write(JSON.stringify(await (side === "baseline" ? row.baseline(dir, fixture) : row.ours(dir, fixture))));
