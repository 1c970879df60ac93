/** What runs without asking in each mode, what *always* means, and taking it back. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { PermissionQuestion, PermissionRule, PermissionVerdict } from "@pawl/core";
import { ruling } from "@pawl/core";
import fc from "fast-check";
import { type Mode, modes } from "../src/config/schema.ts";
import { proposedGrant } from "../src/grant.ts";
import { permissionFor } from "../src/permission.ts";
import { answerOf } from "../src/question.ts";
import { realPath } from "../src/tools/real-path.ts";
import { lastLine, World } from "./pawl-world.ts";

const call = (tool: string, input: object, effect: PermissionQuestion["effect"] = "write"): PermissionQuestion => ({
  call: "c",
  tool,
  input,
  effect,
});
const bash = (command: string) => call("bash", { command });
const edit = (path: string) => call("edit", { path });
const read = call("read", { path: "a.ts" }, "read");

function judged(
  mode: Mode,
  question: PermissionQuestion,
  rules: { permissions?: PermissionRule[]; narrowing?: PermissionRule[]; allAllowed?: boolean } = {},
): string {
  const { permissions = [], narrowing = [], allAllowed = false } = rules;
  const said: PermissionVerdict = permissionFor(
    { mode, permissions, narrowing },
    { cwd: "/w", real: (path) => path, allAllowed: () => allAllowed },
  )(question);
  return typeof said === "string" ? said : said.say;
}

describe("modes", () => {
  const table: [question: PermissionQuestion, plan: string, ask: string, edits: string, all: string][] = [
    [read, "allow", "allow", "allow", "allow"],
    [edit("src/a.ts"), "deny", "ask", "allow", "allow"],
    [edit("/w/src/a.ts"), "deny", "ask", "allow", "allow"],
    [edit(".git/hooks/pre-commit"), "deny", "ask", "ask", "allow"],
    [edit("sub/../.GIT/config"), "deny", "ask", "ask", "allow"],
    [edit("/w/.pawl/config.json"), "deny", "ask", "ask", "allow"],
    [bash("ls"), "deny", "ask", "ask", "allow"],
    [call("mcp__x__write", { path: "a" }), "deny", "ask", "ask", "allow"],
  ];
  for (const [question, ...words] of table) {
    test(`${question.tool} ${JSON.stringify(question.input)}`, () => {
      assert.deepEqual(
        modes.map((mode) => judged(mode, question)),
        words,
      );
    });
  }

  test("a deny stands above every allow, of whichever file, in every mode, for a part of a line, too", () => {
    const deny: PermissionRule = { tool: "bash", input: { command: "rm *" }, say: "deny" };
    const allow: PermissionRule = { tool: "bash", say: "allow" };
    for (const mode of modes) {
      for (const rules of [{ permissions: [deny, allow] }, { permissions: [allow], narrowing: [deny] }])
        for (const command of ["rm -rf x", "ls; rm x", "echo $(rm x)"])
          assert.equal(judged(mode, bash(command), { ...rules, allAllowed: true }), "deny", `${mode} ${command}`);
    }
    assert.equal(judged("ask", bash("ls"), { permissions: [deny, allow] }), "allow");
  });

  test("a foreign project's ask is asked although the user allows; reads can be denied by path", () => {
    const permissions: PermissionRule[] = [{ tool: "bash", say: "allow" }];
    assert.equal(judged("ask", bash("ls"), { permissions, narrowing: [{ tool: "bash", say: "ask" }] }), "ask");
    const env = call("read", { path: "sub/.env" }, "read");
    assert.equal(judged("plan", env, { narrowing: [{ input: { path: "**/.env" }, say: "deny" }] }), "deny");
  });
});

test("a link in a repository does not make .git an ordinary folder, nor a denied file an allowed one", (t) => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "pawl-permission-")));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  for (const folder of [".git/hooks", "src", "secrets"]) mkdirSync(join(cwd, folder), { recursive: true });
  symlinkSync(".git/hooks", join(cwd, "docs"));
  symlinkSync("../secrets", join(cwd, "src/plain"));
  const rules: PermissionRule[] = [
    { input: { path: "secrets/**" }, say: "deny" },
    { input: { path: "src/**" }, say: "allow" },
  ];
  const place = { cwd, real: (path: string) => realPath(cwd, path), allAllowed: () => false };
  const permission = permissionFor({ mode: "accept-edits", permissions: rules, narrowing: [] }, place);
  const words = [
    "docs/pre-commit",
    "docs/../config",
    "docs/new/deep",
    `${cwd}/docs/x`,
    "src/plain/key",
    "src/a.ts",
    "other/new.ts",
    "x/../docs/y",
  ].map((path) => {
    const said = permission(edit(path));
    return typeof said === "string" ? said : said.say;
  });
  assert.deepEqual(words, ["ask", "ask", "ask", "ask", "deny", "allow", "allow", "ask"]);
  symlinkSync("loop", join(cwd, "loop"));
  assert.doesNotThrow(() => permission(edit("loop/x")));
  assert.doesNotThrow(() => permission(edit("a\0b")));
});

describe("what always would mean", () => {
  const cases: [command: string, pattern: string | undefined][] = [
    ["git log --oneline -5", "git log *"],
    ["npm test", "npm test *"],
    ["npm run build -- --watch", "npm run build *"],
    ["npm run test:unit", "npm run test:unit *"],
    ["ls -la src", "ls *"],
    ...[
      "rm -rf x",
      "python a.py",
      "bash -c ls",
      "sudo ls",
      "git push origin",
      "git -c a=b log",
      "npm exec x",
      "npx x",
      "npm install x",
      "go run ./x",
      "git rebase --exec x main",
      "git bisect run x",
      "git restore .",
      "git checkout -f main",
      "git stash drop",
      "git branch -D x",
      "npm init x",
      "go generate",
      "mvn exec:exec -Dexec.executable=x",
    ].map((command): [string, undefined] => [command, undefined]),
    ...[
      "git log; rm x",
      "git log > x",
      "git log $(x)",
      "git log `x`",
      "git log && x",
      "git log\nrm x",
      "cat 'a b'",
      "",
    ].map((command): [string, undefined] => [command, undefined]),
  ];
  for (const [command, pattern] of cases)
    test(JSON.stringify(command), () => assert.equal(proposedGrant(bash(command)).input?.["command"], pattern));

  test("a file is granted by its path, unless the path would be a pattern; other tools for the same call", () => {
    assert.deepEqual(proposedGrant(edit("src/a.ts")).input, { path: "src/a.ts" });
    for (const question of [
      edit("src/*.ts"),
      call("mcp__x", { path: "a" }),
      call("bash", {}),
      call("bash", { command: 7 }),
    ])
      assert.equal(proposedGrant(question).input, undefined);
  });

  test("a granted pattern matches the call it was proposed for, and no line with a second command in it", () => {
    const word = fc.constantFrom("git", "log", "npm", "run", "build", "ls", "-la", "test", "cat", "a.ts");
    const tail = fc.constantFrom("; rm x", " && rm x", " | sh", "\nrm x", " $(rm x)", " `rm x`", " > x", " & rm x");
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), tail, (words, rest) => {
        const { input } = proposedGrant(bash(words.join(" ")));
        if (!input) return;
        const rules = [{ input, say: "allow" }] as const;
        assert.equal(ruling(rules, bash(words.join(" "))), "allow");
        assert.notEqual(ruling(rules, bash(words.join(" ") + rest)), "allow");
      }),
    );
  });
});

test("a typed answer: whatever is no plain yes is a no, and its words are the reason", () => {
  const grant = proposedGrant(bash("git log"));
  const session = { answer: "allow", by: "terminal", scope: "session", input: { command: "git log *" } };
  assert.deepEqual(
    ["y", " YES ", "a", "always", "all"].map((said) => answerOf(said, grant)),
    [{ answer: "allow", by: "terminal" }, { answer: "allow", by: "terminal" }, session, session, "all"],
  );
  for (const said of ["", "n", "No", "no."])
    assert.deepEqual(answerOf(said, grant), { answer: "deny", by: "terminal" });
  for (const [said, why] of [
    ["n, use pnpm", "use pnpm"],
    ["no: wrong folder", "wrong folder"],
    ["not there", "not there"],
    ["yes but later", "yes but later"],
  ] as const)
    assert.deepEqual(answerOf(said, grant), {
      answer: "deny",
      by: "terminal",
      reason: `a person denied this call: ${why}`,
    });
  assert.equal((answerOf(undefined, grant) as { by: string }).by, "nobody");
});

const log = [{ call: "bash", input: { command: "echo one > /dev/null" } }];
const skip = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";

test("plan mode: a command is not run, the model is told why, and before it that it is to plan", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ call: "bash", input: { command: "touch made" } }], [{ text: "The plan." }]]);
  const { code, stdout } = await world.pawl(["run", "Go", "--mode", "plan", "--json", ...world.place(server)]);
  assert.equal(code, 0);
  assert.equal(lastLine(stdout).text, "The plan.");
  assert.match(stdout, /TOOL_DENIED[^\n]*this is plan mode: only tools that read may run/);
  assert.match(JSON.stringify(server.requests[0]), /You are in plan mode/);
  assert.throws(() => world.read("made"));
});

test("always is remembered: asked once, listed, taken back, asked again", { skip }, async (t) => {
  const world = new World(t);
  const git = (argument: string) => [{ call: "bash", input: { command: `ls ${argument}` } }];
  const server = await world.server([
    git("."),
    git("./"),
    [{ text: "Done." }],
    git("-a"),
    [{ text: "Done." }],
    log,
    [{ text: "Done." }],
    git("-l"),
    [{ text: "Done." }],
  ]);
  const place = world.place(server);
  const first = await world.inTerminal("a\n", ["run", "Go", "--session", "s", ...place]);
  assert.equal(first.stdout.match(/Allow this\?/g)?.length, 1, first.stdout);
  assert.match(first.stdout, /\[a\]lways \(ls \*\)/);
  const unasked = await world.pawl(["run", "Go", "--session", "s", "--json", ...place]);
  assert.doesNotMatch(unasked.stdout, /TOOL_DENIED/);
  const denied = await world.inTerminal("no, not now\n", ["run", "Go", "--session", "s", ...place]);
  assert.match(JSON.stringify(server.requests.at(-1)), /a person denied this call: not now/, denied.stdout);
  const at = ["--store", world.store];
  assert.match(
    (await world.pawl(["grants", "s", ...at])).stdout,
    /^1 {2}allow {2}bash ls \*, in this session, by terminal\n$/,
  );
  assert.match((await world.pawl(["grants", "s", "--revoke", "7", ...at])).stderr, /--revoke "7": there are 1 to 1/);
  assert.match((await world.pawl(["grants", "s", "--revoke", "1", ...at])).stdout, /^Taken back: bash ls \*/);
  assert.match((await world.pawl(["grants", "s", ...at])).stdout, /\(taken back\)/);
  const again = await world.pawl(["run", "Go", "--session", "s", "--json", ...place]);
  assert.match(again.stdout, /TOOL_DENIED/);
  assert.match((await world.pawl(["grants", "s", ...at])).stdout, /nothing is remembered/);
  assert.equal((await world.verified("s")).code, 0);
});

test("--yes and --mode together are refused", async (t) => {
  const { code, stderr } = await new World(t).pawl(["run", "Hi", "--yes", "--mode", "plan"]);
  assert.equal(code, 2);
  assert.match(stderr, /--yes.*--mode/);
});
