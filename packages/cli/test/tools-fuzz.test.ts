/** Every tool of the workspace with inputs that mean harm: refused clearly or harmless, and nothing outside is touched or told. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { z } from "zod";
import { Folder } from "./tools-call.ts";

const runs = 1_000;
const canary = "canary-4b1f0c7e";

/** Names, kinds, contents, modes and times of all below a folder. */
function picture(folder: string): string {
  const hash = createHash("sha256");
  const walk = (path: string) => {
    const stats = lstatSync(path);
    hash.update(`${path}\0${stats.mode}\0${stats.mtimeMs}\0`);
    if (stats.isDirectory()) for (const name of readdirSync(path).sort()) walk(join(path, name));
    else hash.update(stats.isSymbolicLink() ? readlinkSync(path) : readFileSync(path));
  };
  walk(folder);
  return hash.digest("hex");
}

/** Paths that lead out, patterns that do, arguments that would be options or shell, and what no name is. */
function hostileText(outside: string): fc.Arbitrary<string> {
  const pwned = join(outside, "pwned");
  const name = fc.constantFrom(
    "..",
    ".",
    "",
    "a.txt",
    "A.TXT",
    "sub",
    "SUB",
    "out",
    "up",
    "leak",
    "dangling",
    "loop",
    "secret.txt",
    "outside",
    "OUTSIDE",
    "*",
    "**",
    "~",
    "n\0",
    "\ud800",
    "{a,..}",
  );
  return fc.oneof(
    fc.array(name, { minLength: 1, maxLength: 7 }).map((names) => names.join("/")),
    fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `${outside}/${names.join("/")}`),
    fc.constantFrom(
      `$(touch ${pwned})`,
      `\`touch ${pwned}\``,
      `; touch ${pwned} #`,
      `a.txt\ntouch ${pwned}`,
      `| tee ${pwned}`,
      `--pre=touch ${pwned}`,
      "--pre=cat",
      `-f${pwned}`,
      "--files",
      "-e",
      "--",
      "--hidden --follow",
      "--search-zip",
      `--ignore-file=${outside}/secret.txt`,
      "../**",
      "../outside/*",
      "{../outside,.}/*",
      `${outside}/**`,
      "!(x)",
      "@(..)/outside/*",
      `file://${outside}/secret.txt`,
      "http://localhost/",
      "http://[::ffff:7f00:1]/",
      "http://rebound.example/",
      "/proc/self/environ",
      "/proc/self/root/etc/passwd",
      "/dev/fd/0",
      "/etc/passwd",
      "x".repeat(5_000),
      "a/".repeat(3_000),
      "job-00000000",
      "(a+)+$",
      "[",
      "(?<x",
      "\\",
      "\u202e",
      "__proto__",
    ),
    fc.string({ unit: "binary", maxLength: 40 }),
  );
}

/** The fields that tools have, filled with harm or with what does not belong there. A command is harmless: it may do all that a shell may. */
function hostileInput(outside: string): fc.Arbitrary<unknown> {
  const text = hostileText(outside);
  const number = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.constantFrom(0, 1, -1, 1e9, Number.NaN, Number.POSITIVE_INFINITY),
  );
  const odd = fc.oneof(
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(text, { maxLength: 2 }),
    fc.object({ maxDepth: 2 }),
  );
  const often = (good: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 25, arbitrary: good }, { weight: 1, arbitrary: odd });
  const edits = fc.array(
    fc.record({ old: fc.oneof(text, fc.constant("a")), new: text, all: odd }, { requiredKeys: ["old", "new"] }),
    { maxLength: 3 },
  );
  const status = fc.constantFrom("pending", "in_progress", "done", "x");
  const fields = {
    command: fc.constantFrom("true", "echo hi", "exit 3", " ", "echo \0"),
    path: often(text),
    pattern: often(text),
    url: often(text),
    id: often(text),
    glob: often(text),
    include: often(text),
    content: often(text),
    question: often(text),
    description: often(text),
    edits: often(edits),
    items: often(fc.array(fc.record({ text, status }), { maxLength: 3 })),
    choices: often(fc.array(text, { maxLength: 3 })),
    offset: often(fc.integer({ min: 0, max: 5 })),
    limit: often(fc.integer({ min: 1, max: 9 })),
    timeoutMs: often(fc.integer({ min: 1_000, max: 60_000 })),
    waitMs: often(fc.constantFrom(0, 1)),
    background: often(fc.boolean()),
    until: often(fc.constantFrom("end", "output")),
    ignoreCase: often(fc.boolean()),
    context: often(number),
  };
  return fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record(fields, {
        requiredKeys: ["path", "pattern", "url", "command", "content", "edits", "items", "question"],
      }),
    },
    { weight: 1, arbitrary: odd },
  );
}

test(`${runs} hostile inputs over all tools: refused clearly or harmless; outside nothing is changed or told`, async (t) => {
  const folder = new Folder(
    t,
    { "a.txt": "a\n", "sub/b.txt": "b\n" },
    {
      fetch: {
        resolve: async () => [{ address: "127.0.0.1", family: 4 }],
      },
      asker: async () => "yes",
      images: "send",
    },
  );
  const { root, outside } = folder;
  const top = join(root, "..");
  writeFileSync(join(outside, "secret.txt"), `${canary}\n`);
  mkdirSync(join(outside, "deep"));
  writeFileSync(join(outside, "deep", "more.txt"), `${canary}\n`);
  symlinkSync(outside, join(root, "out"));
  symlinkSync("..", join(root, "up"));
  symlinkSync(join(outside, "secret.txt"), join(root, "leak"));
  symlinkSync(join(outside, "new.txt"), join(root, "dangling"));
  symlinkSync("loop", join(root, "loop"));
  const before = picture(outside);
  const beside = () => readdirSync(top).filter((name) => name !== "spill");
  const neighbours = beside();
  const counts = { refused: 0, failed: 0, done: 0 };
  const used = new Set<string>();

  const tool = fc.constantFrom(...Object.keys(folder.tools));
  await fc.assert(
    fc.asyncProperty(tool, hostileInput(outside), hostileText(outside), async (name, input, key) => {
      const { inputSchema } = folder.tool(name) as unknown as { inputSchema: z.ZodType };
      const parsed = inputSchema.safeParse(input);
      if (!parsed.success) {
        counts.refused += 1;
        return;
      }
      used.add(name);
      await folder.locks(name, parsed.data);
      // Keys are ours; should they ever be others', they lead nowhere either.
      const options = /^(write|edit)$/.test(name) ? {} : { key: key.slice(0, 60) };
      try {
        const { text } = await folder.result(name, parsed.data, options);
        assert.equal(text.includes(canary), false, `${name} tells what is outside`);
        counts.done += 1;
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), `${error}`);
        // A message of ours, not a fault of the program.
        assert.equal(
          /is not a function|Cannot read prop|undefined \(|\[object/.test(error.message),
          false,
          error.stack,
        );
        assert.ok(error.message.length > 10 && error.message.length < 20_000, error.message);
        assert.equal(error.message.includes(canary), false, `${name} tells what is outside`);
        assert.equal(/cannot be reached/.test(error.message), false, "fetch has tried to connect");
        counts.failed += 1;
      }
      assert.deepEqual(beside(), neighbours, `${name} made something beside the workspace`);
    }),
    { numRuns: runs },
  );
  assert.equal(picture(outside), before);
  for (const job of (await folder.call("job_output", {})).matchAll(/^(job-\w+) {2}running/gm))
    await folder.call("job_kill", { id: job[1] });
  // A test that refuses all before it runs would hold nothing.
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.done > runs / 10 && counts.failed > runs / 10, JSON.stringify(counts));
  assert.deepEqual([...used].sort(), Object.keys(folder.tools).sort());
});
