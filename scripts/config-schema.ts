/** Writes the schema of configuration files beside the program: `node scripts/config-schema.ts`. A test holds the two together. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedSchema } from "../packages/cli/src/config/schema.ts";
import { root } from "./source.ts";

const path = join(root, "packages/cli/config.schema.json");
writeFileSync(path, JSON.stringify(publishedSchema(), undefined, 2));
execFileSync("npx", ["biome", "format", "--write", path], { cwd: root, stdio: "inherit" });
