import assert from "node:assert/strict";
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { applyEdits } from "../src/tools/edit-match.ts";
import { Folder } from "./tools-call.ts";

const edit = (folder: Folder, ...edits: unknown[]) => folder.call("edit", { path: "a.txt", edits });

test("replaces a unique text and gives a diff", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\ntwo\nthree\n" });
  chmodSync(join(folder.root, "a.txt"), 0o640);
  const text = await edit(folder, { old: "two", new: "2" });
  assert.equal(text, "edited a.txt: 1 edit\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three");
  assert.equal(folder.content("a.txt"), "one\n2\nthree\n");
  assert.equal(statSync(join(folder.root, "a.txt")).mode & 0o777, 0o640);
});

test("an ambiguous text is refused with its lines; `all` takes every one", async (t) => {
  const folder = new Folder(t, { "a.txt": "x\ny\nx\nx\n" });
  await assert.rejects(
    edit(folder, { old: "x", new: "z" }),
    /nothing was changed: the edit: `old` occurs 3 times \(lines 1, 3, 4\)/,
  );
  await edit(folder, { old: "x", new: "$&z", all: true });
  assert.equal(folder.content("a.txt"), "$&z\ny\n$&z\n$&z\n");
});

test("all edits or none", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\ntwo\n" });
  await assert.rejects(
    edit(folder, { old: "one", new: "1" }, { old: "three", new: "3" }),
    /nothing was changed: edit 2 of 2: `old` is not in the file/,
  );
  assert.equal(folder.content("a.txt"), "one\ntwo\n");
  await edit(folder, { old: "one", new: "two" }, { old: "two", new: "one" });
  assert.equal(folder.content("a.txt"), "two\none\n");
});

test("overlapping, empty and idle edits are refused", async (t) => {
  const folder = new Folder(t, { "a.txt": "one two three\n" });
  await assert.rejects(
    edit(folder, { old: "one two", new: "x" }, { old: "two three", new: "y" }),
    /edits 1 and 2: they touch the same text/,
  );
  await assert.rejects(edit(folder, { old: "", new: "x" }), /`old` is empty/);
  await assert.rejects(edit(folder, { old: "one", new: "one" }), /are the same/);
  assert.equal(folder.content("a.txt"), "one two three\n");
});

test("a failure shows the closest lines", async (t) => {
  const folder = new Folder(t, { "a.txt": "import x\n\nfunction compute(a, b) {\n  return a + b;\n}\n" });
  const wrong = edit(folder, { old: "function compute(a, c) {\n  return a + c;", new: "x" });
  await assert.rejects(wrong, /The closest lines are:\n2\t\n3\tfunction compute\(a, b\) \{\n4\t {2}return a \+ b;/);
  await assert.rejects(edit(folder, { old: "zzzz", new: "x" }), /No line is like it: read the file again/);
});

test("white space is forgiven where one place fits, and the file's indentation stays", async (t) => {
  const folder = new Folder(t, { "a.txt": "if (a) {\n\tcall(1,  2);\n\tmore();\n}\n" });
  const text = await edit(folder, { old: "    call(1, 2);\n    more();\n", new: "    call(3);\n" });
  assert.match(text, /white space forgiven in edit 1: check the indentation/);
  assert.equal(folder.content("a.txt"), "if (a) {\n\tcall(3);\n}\n");
});

test("white space is not forgiven where two places fit, nor for all", async (t) => {
  const folder = new Folder(t, { "a.txt": "\tx = 1;\n  x = 1;\n" });
  await assert.rejects(
    edit(folder, { old: "    x = 1;", new: "y" }),
    /with white space forgiven it fits 2 places \(lines 1, 2\)/,
  );
  await assert.rejects(edit(folder, { old: "    x = 1;", new: "y", all: true }), /not in the file/);
});

test("CRLF, a byte order mark and mixed line ends are kept", async (t) => {
  const folder = new Folder(t, { "a.txt": "\ufeffone\r\ntwo\r\nthree\r\n" });
  await edit(folder, { old: "one\ntwo\n", new: "1\n1.5\n2\n" });
  assert.equal(folder.content("a.txt"), "\ufeff1\r\n1.5\r\n2\r\nthree\r\n");
  folder.put("a.txt", "a\r\nb\nc\r\nd\n");
  await edit(folder, { old: "b", new: "B" });
  assert.equal(folder.content("a.txt"), "a\r\nB\nc\r\nd\n");
  folder.put("a.txt", "a\nb\n");
  await edit(folder, { old: "a\r\n", new: "x\r\n" });
  assert.equal(folder.content("a.txt"), "x\nb\n");
});

test("the final newline is kept, also when the last line is replaced, and none is added", async (t) => {
  const folder = new Folder(t, { "a.txt": "a\nlast\n" });
  await edit(folder, { old: "last\n", new: "end" });
  assert.equal(folder.content("a.txt"), "a\nend\n");
  folder.put("a.txt", "a\nlast");
  await edit(folder, { old: "last", new: "end" });
  assert.equal(folder.content("a.txt"), "a\nend");
});

test("what no edit touches stays byte for byte", () => {
  const lines = fc
    .array(fc.constantFrom("a\n", "b\r\n", "\r", "\r\r\n", "€", " "), { maxLength: 30 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(lines, lines, fc.boolean(), (before, after, bom) => {
      const start = (bom ? "\ufeff" : "") + before;
      const { text } = applyEdits(`${start}#OLD#${after}\n`, [{ old: "#OLD#", new: "#NEW#" }]);
      assert.equal(text, `${start}#NEW#${after}\n`);
    }),
  );
});

test("a file that is not UTF-8 text is refused, not damaged", async (t) => {
  const folder = new Folder(t, { "a.txt": Buffer.from("caf\xe9 old\n", "latin1") });
  await assert.rejects(edit(folder, { old: "old", new: "new" }), /is no UTF-8 text/);
  await assert.rejects(
    folder.call("edit", { path: "b.txt", edits: [{ old: "a", new: "b" }] }),
    /b\.txt does not exist\. Close names: a\.txt/,
  );
});

test("a large rewrite says so instead of a diff without end", async (t) => {
  const folder = new Folder(t, { "a.txt": "line\n".repeat(3_000) });
  const text = await edit(folder, { old: "line", new: "row", all: true });
  assert.match(text, /too many lines changed for a diff/);
  folder.put("a.txt", `${"w".repeat(100)}\n`.repeat(200));
  assert.match(
    await edit(folder, { old: "w".repeat(100), new: "v", all: true }),
    /\[the diff is cut; read the file for the rest\]$/,
  );
});

test("after an edit the file counts as seen", async (t) => {
  const folder = new Folder(t, { "a.txt": "one\n" });
  await edit(folder, { old: "one", new: "two" });
  assert.match(await folder.call("write", { path: "a.txt", content: "three\n" }), /^replaced/);
});

test("reconcile judges from the stated texts", async (t) => {
  const folder = new Folder(t, { "a.txt": "new text\n" });
  const verdict = async (...edits: unknown[]) =>
    (await folder.reconcile("edit", { path: "a.txt", edits }, "k")).verdict;
  assert.equal(await verdict({ old: "old text", new: "new text" }), "done");
  assert.equal(await verdict({ old: "text", new: "new text" }), "done");
  assert.equal(await verdict({ old: "new text", new: "newer" }), "unknown");
  assert.equal(await verdict({ old: "new text", new: "new" }), "unknown");
  assert.equal(await verdict({ old: "gone", new: "" }), "unknown");
  assert.equal(await verdict({ old: "old", new: "new" }, { old: "a", new: "b" }), "unknown");
});
