#!/usr/bin/env node
// Plain JavaScript, so that an older Node says what it needs instead of failing on the first line of TypeScript.
import * as nodeModule from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const [major] = process.versions.node.split(".").map(Number);
if (major < 24) {
  process.stderr.write(
    `pawl: needs Node 24 or newer, this is ${process.version}. From a clone, \`npx pawl\` uses the right one; from elsewhere, \`npm exec --prefix CLONE -- pawl\`.\n`,
  );
  process.exit(2);
}
// Halves the start-up. In the user's own cache folder: one that others can write to would be a way in.
const cache = process.env.XDG_CACHE_HOME?.startsWith("/") ? process.env.XDG_CACHE_HOME : join(homedir(), ".cache");
nodeModule.enableCompileCache(join(cache, "pawl"));
await import("../src/main.ts");
