/** Names: those of the conventions are theirs, and all of them are on the page that operators read. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { metrics } from "../src/index.ts";

const folder = join(import.meta.dirname, "../src");
const source = readdirSync(folder)
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("\n");
const names = new Set([...source.matchAll(/"((?:gen_ai|pawl|error|http)\.[a-z_.]+)"/g)].map(([, name = ""]) => name));
const page = readFileSync(join(import.meta.dirname, "../../../docs/telemetry.md"), "utf8");

test("each name that is not ours is one of the conventions", () => {
  const known = new Set<unknown>(Object.values(conventions));
  const foreign = [...names].filter((name) => !name.startsWith("pawl.") && !known.has(name));
  // Of the separate GenAI conventions, which no package has yet.
  assert.deepEqual(foreign, ["gen_ai.execute_tool.duration"]);
});

test("each attribute, event and metric is on the page, with its unit, and the page names no other", () => {
  assert.ok(names.size > 50 && Object.keys(metrics).length > 15);
  for (const name of names) assert.ok(page.includes(`\`${name}\``), `${name} is not on docs/telemetry.md`);
  for (const [name, { unit }] of Object.entries(metrics)) {
    const row = page
      .split("\n")
      .find((line) => line.startsWith("|") && line.includes(`\`${name}\``) && line.includes(unit));
    assert.ok(row, `${name} in ${unit}`);
  }
  const told = [...page.matchAll(/`((?:gen_ai|pawl)\.[a-z_.]+)`/g)].map(([, name = ""]) => name);
  const renamed = ["gen_ai.client.inference.duration"];
  assert.deepEqual(
    told.filter((name) => !names.has(name) && !renamed.includes(name)),
    [],
  );
});
