import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { Folder } from "./tools-call.ts";

test("gives numbered lines", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\n\nthree\n", "b.txt": "no newline" });
  assert.equal(await folder.call("read", { path: "a.txt" }), "1\tone\n2\t\n3\tthree");
  assert.equal(await folder.call("read", { path: "b.txt" }), "1\tno newline");
});

test("gives a range and says how to read on", async (t) => {
  const folder = new Folder(t, { "a.txt": Array.from({ length: 10 }, (_, i) => `l${i + 1}\n`).join("") });
  assert.equal(
    await folder.call("read", { path: "a.txt", offset: 3, limit: 2 }),
    "3\tl3\n4\tl4\n[lines 3-4 of 10; go on with offset 5]",
  );
  assert.equal(await folder.call("read", { path: "a.txt", offset: 10 }), "10\tl10\n[lines 10-10 of 10]");
  await assert.rejects(folder.call("read", { path: "a.txt", offset: 11 }), /has 10 lines; offset 11 is behind its end/);
});

test("a long file is capped by lines and by characters, with the next offset", async (t) => {
  const folder = new Folder(t, { "many.txt": "x\n".repeat(5_000), "wide.txt": `${"y".repeat(999)}\n`.repeat(100) });
  const many = await folder.call("read", { path: "many.txt" });
  assert.ok(many.endsWith("2000\tx\n[lines 1-2000 of 5000; go on with offset 2001]"));
  const wide = await folder.call("read", { path: "wide.txt" });
  assert.ok(wide.length < 41_000);
  assert.match(wide, /\[lines 1-39 of 100; go on with offset 40\]$/);
});

test("R72: one line of 12 MB is cut, and the next is found", async (t) => {
  const folder = new Folder(t, { "a.txt": `${"z".repeat(12_000_000)}\nnext\n` });
  const text = await folder.call("read", { path: "a.txt" });
  assert.ok(text.length < 3_000);
  assert.match(text, /… \[the line has 12000000 characters\]\n2\tnext$/);
});

test("R51: an emoji straddling the cap of a line is not split", async (t) => {
  const folder = new Folder(t, { "a.txt": `${"a".repeat(1_999)}😀😀\n` });
  const text = await folder.call("read", { path: "a.txt" });
  assert.ok(text.isWellFormed());
  assert.match(text, /^1\ta{1999}… \[/);
});

test("R51: characters across the edges of the stream's chunks are whole", async (t) => {
  const folder = new Folder(t, { "a.txt": `x${"€uro\n".repeat(30_000)}` });
  assert.match(await folder.call("read", { path: "a.txt", offset: 29_999 }), /^29999\t€uro\n30000\t€uro\n/);
  const middle = await folder.call("read", { path: "a.txt", offset: 9_000, limit: 4_000 });
  assert.equal(middle.includes("\ufffd"), false);
});

test("R51: a binary file is summed up, not shown", async (t) => {
  const folder = new Folder(t, {
    "a.png": Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(100)]),
    "nul.dat": Buffer.from("text\0text"),
    "latin.txt": Buffer.from("caf\xe9", "latin1"),
  });
  assert.match(await folder.call("read", { path: "a.png" }), /^a\.png: PNG image, 108 B\. Not text/);
  assert.match(await folder.call("read", { path: "nul.dat" }), /binary data, 9 B/);
  assert.match(await folder.call("read", { path: "latin.txt" }), /not UTF-8/);
});

test("a character cut by the end of the inspected head does not make a file binary", async (t) => {
  const folder = new Folder(t, { "a.txt": `${"a".repeat(8_191)}€\n` });
  assert.match(await folder.call("read", { path: "a.txt" }), /^1\taaa/);
});

test("control characters are shown as pictures, CRLF is said", async (t) => {
  const folder = new Folder(t, { "a.txt": "a\x07b\r\nc\r\n" });
  assert.equal(await folder.call("read", { path: "a.txt" }), "1\ta␇b\n2\tc\n[line ends are CRLF]");
});

test("empty, missing, folder and pipe are each said", async (t) => {
  const folder = new Folder(t, { "empty.txt": "", "src/config.ts": "x", "src/other.md": "x" });
  assert.equal(await folder.call("read", { path: "empty.txt" }), "empty.txt is empty.");
  await assert.rejects(
    folder.call("read", { path: "src/confg.ts" }),
    /src\/confg\.ts does not exist\. Close names: src\/config\.ts$/,
  );
  await assert.rejects(folder.call("read", { path: "zzz" }), /does not exist: list the workspace with ls/);
  await assert.rejects(folder.call("read", { path: "lib/a.ts" }), /neither does its folder/);
  await assert.rejects(folder.call("read", { path: "src" }), /is a folder: use ls/);
  await assert.rejects(folder.call("read", { path: "empty.txt/x" }), /is a file, not a folder/);
  execFileSync("mkfifo", [join(folder.root, "pipe")]);
  await assert.rejects(folder.call("read", { path: "pipe" }), /is a pipe, socket or device/);
});

test("ls lists sorted entries with their kind", async (t) => {
  const folder = new Folder(t, { "b.txt": "12345", ".hidden": "", "dir/x": "" });
  execFileSync("ln", ["-s", "b.txt", join(folder.root, "a-link")]);
  assert.equal(await folder.call("ls", {}), ".hidden  0 B\na-link -> b.txt\nb.txt  5 B\ndir/");
  await assert.rejects(folder.call("ls", { path: "b.txt" }), /is a file: use read/);
  await assert.rejects(folder.call("ls", { path: "dirr" }), /Close names: dir/);
  folder.put("many/0", "");
  for (let i = 1; i <= 600; i++) folder.put(`many/${i}`, "");
  assert.match(await folder.call("ls", { path: "many" }), /\[101 more; use glob to pick\]$/);
});
