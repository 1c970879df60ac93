import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findRipgrep, searchWithRipgrep } from "../src/tools/grep-ripgrep.ts";
import { scanFiles } from "../src/tools/grep-scan.ts";
import { Folder } from "./tools-call.ts";

const tree = {
  "src/a.ts": "const one = 1;\nexport const two = 2;\n",
  "src/deep/b.ts": "// Two\nfunction two() {}\nend\n",
  "readme.md": "two words\n",
  ".hidden/c.ts": "two\n",
  "node_modules/pkg/index.js": "two\n",
  ".git/config": "two\n",
};
/** No ripgrep, whatever the machine has; git stays. */
const scanner = { env: { PATH: "/nowhere" } };

test("glob gives sorted paths, hidden ones included, packages and git left out", async (t) => {
  const folder = new Folder(t, tree);
  assert.equal(await folder.call("glob", { pattern: "**/*.ts" }), ".hidden/c.ts\nsrc/a.ts\nsrc/deep/b.ts");
  assert.equal(await folder.call("glob", { pattern: "*.{ts,md}" }), "readme.md");
  assert.equal(await folder.call("glob", { pattern: "*.ts", path: "src" }), "src/a.ts");
  assert.equal(await folder.call("glob", { pattern: join(folder.root, "src/*.ts") }), "src/a.ts");
  assert.equal(await folder.call("glob", { pattern: "node_modules/pkg/*" }), "node_modules/pkg/index.js");
  assert.match(await folder.call("glob", { pattern: "*.rs" }), /^No file in the workspace matches \*\.rs\. Use \*\*\//);
  await assert.rejects(folder.call("glob", { pattern: "*", path: "srcs" }), /Close names: src/);
  await assert.rejects(folder.call("glob", { pattern: "*", path: "readme.md" }), /is not a folder/);
});

test("glob stays in the workspace", async (t) => {
  const folder = new Folder(t, tree);
  symlinkSync(folder.outside, join(folder.root, "out"));
  symlinkSync("..", join(folder.root, "src/loop"));
  for (const pattern of [
    "../**",
    "src/../../outside/*",
    "/etc/*",
    "{..,src}/**",
    "@(..)/*",
    join(folder.outside, "*"),
  ]) {
    await assert.rejects(folder.call("glob", { pattern }), /must stay in the folder/, pattern);
  }
  assert.equal((await folder.call("glob", { pattern: "**" })).includes("secret"), false);
  assert.match(await folder.call("glob", { pattern: "out/*" }), /^No file/);
});

test("glob caps with a note", async (t) => {
  const folder = new Folder(t);
  for (let i = 0; i < 510; i++) folder.put(`f${String(i).padStart(3, "0")}`, "");
  assert.match(await folder.call("glob", { pattern: "*" }), /^f000\n(?:f\d+\n)*f499\n\[10 more; narrow the pattern\]$/);
});

test("what git ignores is left out, unless asked for by name", async (t) => {
  const folder = new Folder(t, {
    ".gitignore": "dist/\n*.log\n!keep.log\n",
    "dist/a.js": "two\n",
    "x.log": "two\n",
    "keep.log": "two\n",
  });
  execFileSync("git", ["init", "-q"], { cwd: folder.root });
  assert.equal(await folder.call("glob", { pattern: "**" }), ".gitignore\nkeep.log");
  assert.equal(await folder.call("glob", { pattern: "*", path: "dist" }), "dist/a.js");
  assert.equal(await folder.call("grep", { pattern: "two" }), "keep.log:1: two");
  assert.equal(await folder.call("grep", { pattern: "two", path: "dist/a.js" }), "dist/a.js:1: two");
});

test("grep gives path, line and text", async (t) => {
  const folder = new Folder(t, tree, scanner);
  assert.equal(
    await folder.call("grep", { pattern: "\\btwo\\b" }),
    ".hidden/c.ts:1: two\nreadme.md:1: two words\nsrc/a.ts:2: export const two = 2;\nsrc/deep/b.ts:2: function two() {}",
  );
  assert.equal(
    await folder.call("grep", { pattern: "TWO", ignoreCase: true, path: "src/deep" }),
    "src/deep/b.ts:1: // Two\nsrc/deep/b.ts:2: function two() {}",
  );
  assert.equal(await folder.call("grep", { pattern: "(?i)^TWO", glob: "*.md" }), "readme.md:1: two words");
  assert.equal(await folder.call("grep", { pattern: "two", glob: "!**/*.ts" }), "readme.md:1: two words");
  assert.equal(await folder.call("grep", { pattern: "two", glob: "!*.ts" }), "readme.md:1: two words");
  assert.equal(await folder.call("grep", { pattern: "two", glob: "src/*.ts" }), "src/a.ts:2: export const two = 2;");
  assert.equal(
    await folder.call("grep", { pattern: "two", path: "src/a.ts", context: 1 }),
    "src/a.ts-1- const one = 1;\nsrc/a.ts:2: export const two = 2;",
  );
  assert.equal(
    await folder.call("grep", { pattern: "nothing here" }),
    'No line matches "nothing here" in the workspace.',
  );
});

test("grep caps matches, lines and says so", async (t) => {
  const folder = new Folder(
    t,
    { "a.txt": "hit\n".repeat(10), "min.js": `${"x".repeat(5_000)}needle😀${"y".repeat(1_000_000)}\n` },
    scanner,
  );
  assert.match(
    await folder.call("grep", { pattern: "hit", limit: 3 }),
    /^(a\.txt:\d: hit\n){3}\[there are more; raise limit or narrow/,
  );
  assert.match(await folder.call("grep", { pattern: "hit", limit: 10 }), /a\.txt:10: hit$/);
  const line = await folder.call("grep", { pattern: "needle" });
  assert.ok(line.length < 450 && line.isWellFormed());
  assert.match(line, /^min\.js:1: …x{100}needle😀y+…$/);
});

test("grep separates groups of context", async (t) => {
  const folder = new Folder(t, { "a.txt": "1\nhit\n3\n4\n5\n6\nhit\n" }, scanner);
  const text = await folder.call("grep", { pattern: "hit", context: 1 });
  assert.equal(text, "a.txt-1- 1\na.txt:2: hit\na.txt-3- 3\n--\na.txt-6- 6\na.txt:7: hit");
});

test("grep leaves out binary files and links", async (t) => {
  const folder = new Folder(t, { "a.bin": Buffer.from("two\0two\n"), "b.txt": "two\n" }, scanner);
  symlinkSync(join(folder.outside, "secret.txt"), join(folder.root, "leak"));
  symlinkSync(folder.outside, join(folder.root, "out"));
  assert.equal(await folder.call("grep", { pattern: "two|secret" }), "b.txt:1: two");
});

test("an invalid regular expression is explained", async (t) => {
  const folder = new Folder(t, tree, scanner);
  await assert.rejects(
    folder.call("grep", { pattern: "call(" }),
    /"call\(" is no valid regular expression .*: escape \( \)/,
  );
  assert.match(await folder.call("grep", { pattern: '\\"x\\-' }), /^No line/);
});

test("a pattern that backtracks for ever is ended by abort, and the runtime stays awake", async (t) => {
  const folder = new Folder(t, { "a.txt": `${"a".repeat(60)}!\n` }, scanner);
  const controller = new AbortController();
  const call = folder.call("grep", { pattern: "^(a+)+$" }, { signal: controller.signal });
  setImmediate(() => controller.abort(new Error("enough")));
  await assert.rejects(call, /enough/);
});

test("a pattern that backtracks for ever is ended by the bound on time, with what was found before", async (t) => {
  const folder = new Folder(t, { "a.txt": "aaa\n", "b.txt": `${"a".repeat(60)}!\n` });
  const query = { folder: folder.root, pattern: "^(a+)+$", ignoreCase: false, context: 0, limit: 10, unfiltered: true };
  const found = await scanFiles({ ...query, signal: new AbortController().signal }, ["a.txt", "b.txt"], 1_000);
  assert.match(found.note ?? "", /ended after 1 s: a simpler pattern/);
});

test("with ripgrep the answer has the same shape", async (t) => {
  const bin = new Folder(t);
  bin.put("rg", fakeRipgrep);
  chmodSync(join(bin.root, "rg"), 0o755);
  const folder = new Folder(t, tree, { env: { PATH: `${bin.root}:/usr/bin:/bin` } });
  assert.equal(findRipgrep({ PATH: `relative::${bin.root}` }), join(bin.root, "rg"));
  const text = await folder.call("grep", { pattern: "two", path: "src", context: 1, glob: "*.ts" });
  assert.equal(text, "src/a.ts-1- const one = 1;\nsrc/a.ts:2: export const two = 2;");
  const given = bin.content("arguments").trim().split("\n");
  assert.deepEqual(given.slice(-3), ["--regexp=two", "--", "."]);
  assert.ok(given.indexOf("--glob=*.ts") < given.indexOf("--glob=!**/node_modules"));
});

test("what ripgrep refuses and JavaScript knows is searched all the same; what neither knows is explained", async (t) => {
  const bin = new Folder(t);
  writeFileSync(join(bin.root, "rg"), "#!/bin/sh\necho 'regex parse error: look-around' >&2\nexit 2\n");
  chmodSync(join(bin.root, "rg"), 0o755);
  const folder = new Folder(t, tree, { env: { PATH: `${bin.root}:/usr/bin:/bin` } });
  assert.equal(await folder.call("grep", { pattern: "two(?= =)" }), "src/a.ts:2: export const two = 2;");
  await assert.rejects(folder.call("grep", { pattern: "two(" }), /no valid regular expression/);
});

/** Plays back what ripgrep 14 prints, and notes what it was asked. */
const fakeRipgrep = `#!/bin/sh
for argument in "$@"; do echo "$argument"; done > "$(dirname "$0")/arguments"
cat <<'END'
{"type":"begin","data":{"path":{"text":"./a.ts"}}}
{"type":"context","data":{"path":{"text":"./a.ts"},"lines":{"text":"const one = 1;\\n"},"line_number":1,"absolute_offset":0,"submatches":[]}}
{"type":"match","data":{"path":{"text":"./a.ts"},"lines":{"bytes":"ZXhwb3J0IGNvbnN0IHR3byA9IDI7Cg=="},"line_number":2,"absolute_offset":15,"submatches":[{"match":{"text":"two"},"start":13,"end":16}]}}
{"type":"end","data":{"path":{"text":"./a.ts"},"binary_offset":null,"stats":{}}}
{"type":"begin","data":{"path":{"text":"./b.bin"}}}
{"type":"match","data":{"path":{"text":"./b.bin"},"lines":{"text":"two\\n"},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"two"},"start":0,"end":3}]}}
{"type":"end","data":{"path":{"text":"./b.bin"},"binary_offset":4,"stats":{}}}
{"data":{"stats":{}},"type":"summary"}
END
`;

test("a search leaves nothing on the signal of whoever asked for it, and is ended by it", async (t) => {
  const folder = new Folder(t, tree);
  const asking = new AbortController();
  const { signal } = asking;
  const query = {
    folder: folder.root,
    pattern: "x",
    ignoreCase: false,
    context: 0,
    limit: 1,
    unfiltered: false,
    signal,
  };
  const program = join(folder.root, "program");
  writeFileSync(program, "#!/bin/sh\nexit 1\n");
  chmodSync(program, 0o755);
  assert.deepEqual((await searchWithRipgrep(program, process.env, query)).lines, []);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  writeFileSync(program, "#!/bin/sh\nexec sleep 600\n");
  const search = searchWithRipgrep(program, process.env, query);
  asking.abort(new Error("enough"));
  await assert.rejects(search, /enough/);
});
