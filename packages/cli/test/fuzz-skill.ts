/** The front matter of a skill: a name and a description that stand in one line, or no skill. It is never an error. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findSkills } from "../src/guidance/skill.ts";
import { assertOneLine, assertUnpolluted, bytesOf, type Target } from "./fuzz-ground.ts";

const seeds = [
  "---\nname: test\ndescription: How to test here\n---\nRun `npm test`.\n",
  '---\n# mine\nname: "de\\u0070loy"\ndescription: >\n  How to\n  deploy\nallowed-tools: [bash, read]\nmetadata: &m { a: 1, b: [~, 1.5, 2026-01-01] }\nmore: *m\n---\n',
  "---\r\n? description\r\n: |-\r\n  !!str two\r\n  lines\r\n<<: { name: 'merged' }\r\n---  \r\nBody\r\n",
];

export function target(): Target {
  const words = [
    "---\n",
    "\nname: ",
    "\ndescription: ",
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "? ",
    "|\n ",
    ">-\n ",
    '"\\e[2J"',
    "__proto__: ",
    "constructor: ",
  ];
  return { seeds: seeds.map(bytesOf), words, run: inFolder };
}

/** Of its own for each: whoever gives up a thread gives it no time to clean up. */
async function inFolder(input: Uint8Array): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "pawl-fuzz-skill-"));
  try {
    mkdirSync(join(root, "folder"));
    await judge(root, input);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function judge(root: string, input: Uint8Array): Promise<void> {
  const path = join(root, "folder", "SKILL.md");
  writeFileSync(path, input);
  const found = await findSkills([{ path: root, inside: root }]);
  assert.deepEqual(await findSkills([{ path: root, inside: root }]), found, "what is read twice reads the same");
  for (const { name, description, path: told } of found.skills) {
    assertOneLine(name, 128);
    assertOneLine(description, 1_000);
    assert.equal(told, path);
  }
  assert.equal(found.readable.length, found.skills.length);
  assertUnpolluted();
}
