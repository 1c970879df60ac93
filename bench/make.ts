/** One fixture in its own process: `node bench/make.ts NAME FOLDER`. */
import { makeFixture } from "./fixture.ts";

const [name = "", dir = ""] = process.argv.slice(2);
await makeFixture(name, dir);
