/** The small project of the demo: one function, one test, one bug, and a script that must never run twice. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** One line for each time that `publish.js` ran. */
const journal = "published.log";

export const files = {
  "package.json": `${JSON.stringify({ name: "till", private: true, type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
  "till.js": `/** The sum of an order in cents, with the discount (in percent) taken off. */
export function total(items, discount = 0) {
  const sum = items.reduce((before, item) => before + item.cents * item.count, 0);
  return Math.round(sum * (1 + discount / 100));
}
`,
  "till.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "./till.js";

const order = [
  { cents: 250, count: 2 },
  { cents: 500, count: 1 },
];

test("adds up an order", () => {
  assert.equal(total(order), 1000);
});

test("takes the discount off", () => {
  assert.equal(total(order, 10), 900);
});
`,
  "publish.js": `import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

appendFileSync("${journal}", \`till 1.0.1, by process \${process.pid}\\n\`);
console.log("uploading till 1.0.1 ...");
await setTimeout(2500);
console.log("published till 1.0.1");
`,
} as const;

export async function writeProject(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

export interface Publication {
  text: string;
  pid: number;
}

/** What `publish.js` has left behind, a line for each time it ran. */
export async function publications(folder: string): Promise<Publication[]> {
  const text = await readFile(join(folder, journal), "utf8").catch(() => "");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => ({ text: line, pid: Number(/\d+$/.exec(line)?.[0]) }));
}
