import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { PermissionQuestion } from "../src/tool/approval.ts";
import { commandPieces, matchesCommand, matchesPath, matchesText, plainPath, readingOf } from "../src/tool/pattern.ts";
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
  { input: { path: "/keys/**" }, say: "deny" },
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
    const denied = permissionOf([
      { tool: "b?sh", say: "allow" },
      { tool: "bash", say: "deny" },
    ]);
    assert.equal(denied(asked("bash", {})), "deny");
    assert.equal(denied(asked("besh", {})), "allow");
    assert.equal(denied(asked("look", {})), "ask");
  });

  const lines: [string, string][] = [
    ["git status", "allow"],
    ["git", "allow"],
    ["  git   status ", "allow"],
    ["gitk", "ask"],
    ["git log && git diff", "allow"],
    ["git log 2>&1 >/dev/null", "allow"],
    ["git diff src/a.ts", "allow"],
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
    ["/keys/mine", "deny"],
    ["../keys/mine", "deny"],
    ["src/../../keys/mine", "deny"],
    ["/project/../KEYS/mine", "deny"],
    ["../project/src/a.ts", "allow"],
    ["keys/mine", "ask"],
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
    assert.equal(list(asked("stage", undefined)), "ask");
    assert.equal(permissionOf([{ input: { path: "**" }, say: "allow" }])(asked("stage", {})), "ask");
    assert.equal(permissionOf([{ input: { length: "5" }, say: "allow" }])(asked("stage", "src/a")), "ask");
    assert.equal(permissionOf([{ input: { paths: "" }, say: "deny" }])(asked("stage", { paths: undefined })), "deny");
  });

  test("each command of a line, and each item of a list, has the last rule that matches it; the strictest word counts", () => {
    const each = permissionOf([
      { input: { command: "rm *" }, say: "deny" },
      { input: { command: "git *" }, say: "ask" },
      { input: { command: "ls *" }, say: "allow" },
      { input: { command: "cat *" }, say: "allow" },
      { input: { paths: "keys/*" }, say: "deny" },
      { input: { paths: "docs/*" }, say: "ask" },
      { input: { paths: "src/*" }, say: "allow" },
      { input: { paths: "test/*" }, say: "allow" },
    ]);
    for (const [input, said] of [
      [{ command: "ls; cat a" }, "allow"],
      [{ command: "rm a; git log" }, "deny"],
      [{ command: "ls; git log" }, "ask"],
      [{ command: ["ls", "cat a; ls"] }, "allow"],
      [{ command: ["rm a", "git log"] }, "deny"],
      [{ command: ["ls", 5] }, "ask"],
      [{ paths: ["src/a", "test/a"] }, "allow"],
      [{ paths: ["keys/a", "docs/a"] }, "deny"],
      [{ paths: ["src/a", "docs/a"] }, "ask"],
      [{ paths: ["src/a", "a"] }, "ask"],
      [{ command: "ls; cat a", args: ["a", "b"] }, "allow"],
    ] as const)
      assert.equal(each(asked("any", input)), said, JSON.stringify(input));
  });

  test("a rule over several fields needs them all; what is not looked at just now counts as a whole", () => {
    const both = permissionOf([
      { input: { command: "git *", script: "ls *" }, say: "allow" },
      { input: { command: "make *", script: "rm *" }, say: "allow" },
      { input: { command: "git push *", script: "*" }, say: "deny" },
      { input: { command: "make", script: "rm" }, say: "deny" },
      { input: { text: "a; b" }, say: "deny" },
    ]);
    for (const [input, said] of [
      [{ command: "git log; git diff", script: "ls; ls -l" }, "allow"],
      [{ command: "git log; make", script: "ls" }, "ask"],
      [{ command: "git log", script: "ls; make" }, "ask"],
      [{ command: "git log", script: "" }, "ask"],
      [{ command: "git log" }, "ask"],
      [{ command: "git log; git push", script: "ls" }, "deny"],
      [{ command: "make a", script: "rm a" }, "allow"],
      [{ command: "git log; make a", script: "ls; rm a" }, "ask"],
      [{ command: "git log; make", script: "ls; rm" }, "deny"],
      [{ command: "git log", script: "ls", text: "a; b" }, "deny"],
    ] as const)
      assert.equal(both(asked("any", input)), said, JSON.stringify(input));
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
      ["a?", "a", false],
      ["", "", true],
    ] as const)
      assert.equal(matchesPath(pattern, path, "exact"), is, `${pattern} ${path}`);
    assert.equal(matchesPath("A/*.ts", "a/B.TS", "any-case"), true);
    assert.equal(matchesPath("A/*.ts", "a/B.TS", "exact"), false);
  });

  test("in a text a star is any run of characters, and a slash is one of them", () => {
    for (const [pattern, text, is] of [
      ["a*c", "a/b/c", true],
      ["a**c", "a/b/c", true],
      ["a**/c", "ab/c", true],
      ["a**/c", "a/b/c", true],
      ["**/c", "c", false],
      ["a**/c", "ac", false],
    ] as const)
      assert.equal(matchesText(pattern, text), is, `${pattern} ${text}`);
  });

  test("a command's trailing star also stands for no argument, and a blank before it for one at least", () => {
    for (const [pattern, command, is] of [
      ["git *", "git", true],
      ["git  * ", " git", true],
      ["git *", "git a/b  c", true],
      ["git *", "gi", false],
      ["git log", "git l", false],
      ["git l*", "git", false],
      ["*", "git log", true],
    ] as const)
      assert.equal(matchesCommand(pattern, command), is, `${pattern} ${command}`);
  });

  test("a shell line is taken apart at its signs; redirections that touch nothing are no part of it", () => {
    for (const [line, ...pieces] of [
      ["git  log\t-1 ;git log -1", "git log -1"],
      ["a 2>&1", "a"],
      ["a >&2; b 1>&2|c", "a", "b", "c"],
      ["a 2>&1 b", "a b"],
      ["a 2>&10", "a 2", "10"],
      ["a > /dev/null", "a"],
      ["a 2>>/dev/null b &>/dev/null", "a b"],
      ["a >b/dev/null", "a", "b/dev/null"],
      ["a >/dev/nullx", "a", "/dev/nullx"],
      ["echo $HOME", "echo $HOME"],
      ["a $(b)", "a", "b"],
      ["a$", "a"],
    ] as const)
      assert.deepEqual(commandPieces(line), pieces, line);
  });

  test("a path is plain from where it is meant: relative below its folder, absolute elsewhere", () => {
    for (const [path, cwd, plain] of [
      ["a//b/./c/", undefined, "a/b/c"],
      ["a/../b", undefined, "b"],
      ["../../a", undefined, "../../a"],
      ["a/../../b", undefined, "../b"],
      ["/../a", undefined, "/a"],
      ["/a/b", undefined, "/a/b"],
      ["/w/a", "/w", "a"],
      ["/w/a", "/w/../w/", "a"],
      ["/w", "/w", ""],
      [".", "/w", ""],
      ["", "/w", ""],
      ["/wa", "/w", "/wa"],
      ["../a", "/w/x", "/w/a"],
      ["../x/a", "/w/x", "a"],
      ["../../../a", "/w/x", "/a"],
      ["/a/b", "/", "a/b"],
      ["../a", "/", "a"],
      ["../a", "w", "../a"],
      ["/w/a", "w", "/w/a"],
    ] as const)
      assert.equal(plainPath(path, cwd), plain, `${path} in ${cwd}`);
  });

  test("the name of a field says how it is read", () => {
    const names = {
      command: "command",
      CMD: "command",
      script: "command",
      path: "path",
      targetPaths: "path",
      cwd: "path",
    };
    for (const [field, reading] of Object.entries({ ...names, commands: "text", recommand: "text", pathology: "text" }))
      assert.equal(readingOf(field), reading, field);
  });

  test("R51: any pattern and any text are taken, in time that does not explode", () => {
    const hard = `${"*a".repeat(40)}b`;
    assert.equal(matchesText(hard, "a".repeat(20_000)), false);
    const line = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}`).join(";");
    const allowed = permissionOf([{ input: { command: "a *", script: "b *" }, say: "allow" }]);
    assert.equal(allowed(asked("bash", { command: line("a"), script: line("b") })), "allow");
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.ok(matchesText("*", text) && matchesText("**", text));
        assert.ok(commandPieces(text).every((piece) => !/[;&|\n]/.test(piece)));
        for (const cwd of [undefined, "/", "/w"])
          assert.equal(plainPath(plainPath(text, cwd), cwd), plainPath(text, cwd));
      }),
    );
  });
});

test("a pattern has a bound: as a rule it is refused, as an answer in a log it allows nothing and still denies", () => {
  const long = `${"*".repeat(1_001)}`;
  for (const rule of [{ tool: long }, { input: { command: long } }])
    assert.throws(() => permissionOf([{ ...rule, say: "allow" }]), {
      code: "INVALID_INPUT",
      message: /has 1001 characters, at most 1000.*write a shorter/,
    });
  assert.equal(permissionOf([{ tool: "*".repeat(1_000), say: "allow" }])(asked("bash", {})), "allow");
  const call = asked("bash", { command: "ls" }, "write");
  assert.equal(ruling([{ input: { command: long }, say: "allow" }], call), undefined);
  assert.equal(ruling([{ input: { command: long }, say: "deny" }], call), "deny");
  assert.equal(ruling([{ input: { command: "*".repeat(1_000) }, say: "allow" }], call), "allow");
});
