/** Which folder of commands it is: the same for as long as it lasts, another one for a copy, one for all who ask at once. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { archiveId } from "../src/tools/archive-id.ts";

function folder(t: TestContext): { top: string; dir: string } {
  const top = mkdtempSync(join(tmpdir(), "pawl-archive-"));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  const dir = join(top, "commands");
  mkdirSync(dir);
  return { top, dir };
}

test("it stays, also where the folder is moved, and leaves nothing else behind", (t) => {
  const { top, dir } = folder(t);
  const id = archiveId(dir);
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.equal(archiveId(dir), id);
  renameSync(dir, join(top, "moved"));
  assert.equal(archiveId(join(top, "moved")), id);
  assert.deepEqual(readdirSync(join(top, "moved")), ["archive.json"]);
});

test("a copy is another one, for good, and the original stays what it was", (t) => {
  const { top, dir } = folder(t);
  const id = archiveId(dir);
  const copy = join(top, "copy");
  cpSync(dir, copy, { recursive: true, preserveTimestamps: true });
  const other = archiveId(copy);
  assert.notEqual(other, id);
  assert.deepEqual([archiveId(copy), archiveId(dir)], [other, id]);
  assert.deepEqual(readdirSync(copy), ["archive.json"]);
});

for (const rubbish of ["", "{", "null", "7", '{"id":7}', '{"id":"x","inode":"1"}']) {
  test(`what is no id (${JSON.stringify(rubbish)}) is replaced: nothing that was entered under it is believed`, (t) => {
    const { dir } = folder(t);
    writeFileSync(join(dir, "archive.json"), rubbish);
    const id = archiveId(dir);
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.equal(archiveId(dir), id);
  });
}

test("processes that ask at once are told the same", async (t) => {
  const { dir } = folder(t);
  const file = new URL("../src/tools/archive-id.ts", import.meta.url).href;
  const program = `process.stdin.once("data", async () => {
    const { archiveId } = await import(${JSON.stringify(file)});
    console.log(archiveId(${JSON.stringify(dir)}));
    process.exit(0);
  });`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const said = children.map(async ({ stdout }) => {
    let text = "";
    stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    await once(stdout, "close");
    return text.trim();
  });
  for (const { stdin } of children) stdin.write("go");
  const ids = new Set(await Promise.all(said));
  assert.deepEqual([...ids], [archiveId(dir)]);
});

test("a folder that is not there is no place", (t) => {
  assert.throws(() => archiveId(join(folder(t).dir, "gone")), { code: "ENOENT" });
});
