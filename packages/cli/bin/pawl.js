#!/usr/bin/env node
// Plain JavaScript, so that an older Node says what it needs instead of failing on the first line of TypeScript.
const [major] = process.versions.node.split(".").map(Number);
if (major < 24) {
  process.stderr.write(
    `pawl: needs Node 24 or newer, this is ${process.version}. Inside the repository, \`npx pawl\` and \`npm run\` use the right one.\n`,
  );
  process.exit(2);
}
await import("../src/main.ts");
