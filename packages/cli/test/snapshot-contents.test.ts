/** Contents out of a shadow repository, by a git that does not end as it should. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { contentsOf } from "../src/snapshot/contents.ts";
import { SnapshotWorld } from "./snapshot-world.ts";

const hash = "0123456789012345678901234567890123456789";
const item = { blob: hash };

test("a git that ends within a file gives no file, and not the start of one", async (t) => {
  const world = new SnapshotWorld(t);
  const shadow = await world.shadow();
  const bin = join(world.root, "bin");
  mkdirSync(bin);
  const path = process.env["PATH"];
  t.after(() => {
    process.env["PATH"] = path;
  });
  process.env["PATH"] = `${bin}${delimiter}${path}`;
  const answers = async (text: string) => {
    writeFileSync(join(bin, "git"), `#!/bin/sh\nread line\nprintf '%s' '${text}'\n`);
    chmodSync(join(bin, "git"), 0o755);
    const found: string[] = [];
    for await (const { content } of contentsOf(shadow, [item])) found.push(content.toString("utf8"));
    return found;
  };
  assert.deepEqual(await answers(`${hash} blob 3\nabc\n`), ["abc"]);
  await assert.rejects(answers(`${hash} blob 9\nabc`), /has 9 bytes, 3 came; do it again/);
  await assert.rejects(answers(`${hash} missing\n`), /lack an object/);
});
