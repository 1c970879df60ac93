/** Rules over commands and paths: whatever they say, and whatever is asked, an answer comes soon. */
import assert from "node:assert/strict";
import { type PermissionRule, permissionOf } from "@pawl/core";
import { bytesOf, type Target, textOf } from "./fuzz-target.ts";

const seed = [
  ["git *", "git log; rm -rf ."],
  ["src/**/*.ts", "/home/a/src/../src/a/b.ts"],
  ["**/.env", "a/./b/.ENV"],
  ["npm run ?est*", 'npm run test "$(rm x)" > /dev/null 2>&1 && echo `id`'],
];

export function permissionTarget(): Target {
  const words = ["**/", "*", "?", "..", "$(", "`", " && ", "; ", "| ", ">/dev/null", "2>&1", "\\\\", "'", "/home/a/"];
  return { seeds: [bytesOf(JSON.stringify(seed))], words, run: async (input) => judge(textOf(input)) };
}

/** Rules are written by people; what a call says may be as long as it likes. */
const ruleChars = 200;

function judge(text: string): void {
  for (const [pattern, asked] of pairsOf(text)) {
    const itself = asked.slice(0, ruleChars);
    for (const field of ["command", "path", "text"]) {
      const rules: PermissionRule[] = [
        { input: { [field]: pattern }, say: "allow" },
        { input: { [field]: itself }, say: "deny" },
      ];
      const question = { call: "c", tool: "bash", effect: "write", input: { [field]: asked } } as const;
      const said = permissionOf(rules, { cwd: "/home/a" })(question as never);
      assert.ok(said === "allow" || said === "ask" || said === "deny");
      // What denies a text word by word is not outvoted: the pattern may only fail to match where it has signs of its own.
      if (field === "text" && itself === asked && !/[*?]/.test(asked))
        assert.equal(said, "deny", "a text matches itself");
    }
  }
}

function pairsOf(text: string): [string, string][] {
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return [];
    return value.flatMap((pair) =>
      Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string"
        ? [[pair[0].slice(0, ruleChars), pair[1]]]
        : [],
    );
  } catch {
    return [];
  }
}
