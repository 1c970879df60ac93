/** Configuration: whose word counts, what a foreign folder may say, and errors that name the place. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { parseConfig } from "../src/config/file.ts";
import { resolveConfig } from "../src/config/layer.ts";
import { projectFile } from "../src/config/place.ts";
import { type Config, modes, publishedSchema, sandboxModes } from "../src/config/schema.ts";
import { parseServers } from "../src/mcp/config-file.ts";
import { World } from "./pawl-world.ts";

const none: Config = {};
const foreign = (config: Config, user: Config = none, flags: Config = none) =>
  resolveConfig({ flags, user, project: { config, trusted: false } });
const trusted = (config: Config, user: Config = none, flags: Config = none) =>
  resolveConfig({ flags, user, project: { config, trusted: true } });

test("the published schema is what the code makes", () => {
  const published = JSON.parse(readFileSync(new URL("../config.schema.json", import.meta.url), "utf8")) as unknown;
  assert.deepEqual(published, JSON.parse(JSON.stringify(publishedSchema())));
});

describe("a file that is wrong names file, line, column, the value seen and what to write", () => {
  const cases: [what: string, text: string, says: RegExp][] = [
    [
      "a word that is none",
      '{\n  // mine\n  "mode": "fast"\n}',
      /^\/c:3:11: mode is "fast"; write "plan", "ask", "accept-edits" or "all"$/,
    ],
    [
      "an unknown key",
      '{ "permisions": [] }',
      /^\/c:1:3: "permisions" is no key of a configuration; known are \$schema, model/,
    ],
    [
      "an unknown key inside",
      '{ "permissions": [{ "say": "deny", "path": "x" }] }',
      /^\/c:1:36: "path" is no key of permissions\.0/,
    ],
    ["a value of another kind", '{ "window": "many" }', /^\/c:1:13: window is "many"; expected/],
    [
      "a missing value",
      '{ "permissions": [{ "tool": "bash" }] }',
      /^\/c:1:19: permissions\.0\.say is missing; write "allow", "ask" or "deny"/,
    ],
    [
      "a broken server",
      '{ "mcpServers": { "a": { "url": "gopher://x" } } }',
      /^\/c:1:33: mcpServers\.a\.url is "gopher:\/\/x"/,
    ],
    ["no JSON", '{ "mode": ask }', /^\/c:1:11: a word that is no JSON; write texts in "double quotes"$/],
    ["a key twice", '{ "mode": "all",\n "mode": "ask" }', /^\/c:2:2: "mode" stands here a second time/],
    [
      "a prototype",
      '{ "__proto__": { "mode": "all" } }',
      /^\/c:1:3: "__proto__" is no key of a configuration; leave it out$/,
    ],
    ["endless depth", "[".repeat(200_000), /^\/c:1:101: lists and objects are nested too deep/],
    [
      "depth that a reader endures and a writer may not",
      `{ "providers": { "a": { "options": { "x":\n${"[".repeat(98)}${"]".repeat(98)} } } } }`,
      /^\/c:2:97: lists and objects are nested too deep/,
    ],
    [
      "an unknown key beside what one kind of server needs",
      '{ "mcpServers": { "a": { "command": "x", "zz": 1 } } }',
      /^\/c:1:42: "zz" is no key of mcpServers\.a; leave it out$/,
    ],
    [
      "a misspelled key without which a server is none",
      '{ "mcpServers": { "a": { "commnd": "x" } } }',
      /^\/c:1:26: "commnd" is no key of mcpServers\.a; leave it out$/,
    ],
    [
      "an unknown key of the sandbox, which may be a word, too",
      '{ "sandbox": { "zz": 1 } }',
      /^\/c:1:16: "zz" is no key of sandbox; leave it out$/,
    ],
    ["a number beyond all", '{ "window": 1e999 }', /^\/c:1:13: window is 1e999; expected number/],
    [
      "a name that is none",
      '{ "mcpServers": { "a b": { "command": "x" } } }',
      /^\/c:1:\d+: "a b" is no name here; write letters, digits, _ and -, at most 32$/,
    ],
    [
      "a name that would steer the terminal",
      '{ "pricing": { "\\u001b[2J\\n\\u202e": 1 } }',
      /^\/c:1:\d+: pricing\.\[2J {2}?is 1; expected object/,
    ],
    ["an unknown key that would steer the terminal", '{ "a\u009b2J": 1 }', /^\/c:1:3: "a2J" is no key of/],
    [
      "a name without end",
      `{ "pricing": { "${"x".repeat(9_000)}": 1 } }`,
      /^\/c:1:\d+: pricing\.x{192}… is 1; expected object/,
    ],
    ["a list", "[]", /^\/c:1:1: the file is \[\]/],
    ["a number for the sandbox", '{ "sandbox": 1 }', /^\/c:1:14: sandbox is 1/],
    [
      "a pattern without end",
      `{ "permissions": [{ "tool": "${"x".repeat(1001)}", "say": "deny" }] }`,
      /permissions\.0\.tool is "x+….*1000/,
    ],
  ];
  for (const [what, text, says] of cases) {
    test(what, () => {
      assert.throws(
        () => parseConfig(text, "/c"),
        (error: Error) => {
          assert.match(error.message, says);
          return true;
        },
      );
    });
  }
  test("comments, a trailing comma and a byte order mark are no fault; nothing says nothing", () => {
    assert.deepEqual(parseConfig('{ /* a */ "mode": "plan", }', "/c"), { mode: "plan" });
    for (const text of ["", "// nothing yet\n", "{}"]) assert.deepEqual(parseConfig(text, "/c"), {});
  });
});

describe("a file that is wrong keeps its secrets", () => {
  const server = (text: string) => `{ "mcpServers": { "a": { "command": "x", ${text} } } }`;
  const cases: [what: string, text: string][] = [
    ["a comma forgotten before it", server('"env": { "A": "b" "KEY": "sk-secret" }')],
    ["a colon forgotten before it", server('"env": { "KEY" "sk-secret" }')],
    ["no quotation marks", server('"env": { "KEY": sk-secret }')],
    ["a text that does not end", server('"env": { "KEY": "sk-secret }')],
    ["in a list", server('"env": { "KEY": ["sk-secret"] }')],
    ["headers in one text", '{ "mcpServers": { "a": { "url": "https://x", "headers": "Bearer sk-secret" } } }'],
    ["arguments in one text", server('"args": "--token sk-secret"')],
    ["servers in a list", '{ "mcpServers": [{ "command": "x", "env": { "KEY": "sk-secret" } }] }'],
    ["the key itself for the name of its variable", '{ "apiKeyEnv": "sk-secret" }'],
    ["the same of a provider", '{ "providers": { "a": { "keyEnv": "sk-secret" } } }'],
    ["the same of what is passed on", '{ "env": ["sk-secret"] }'],
    ["options of a package as a text", '{ "providers": { "a": { "options": "sk-secret" } } }'],
    ["a password in an address that is none", '{ "baseUrl": "models.example:1/me:sk-secret@" }'],
    ["a key in an address of another kind", '{ "mcpServers": { "a": { "url": "ws://x/?key=sk-secret" } } }'],
  ];
  for (const [what, text] of cases) {
    test(what, () => {
      for (const read of [parseConfig, parseServers] as const) {
        // What the other reader does not look at it takes, or passes over.
        if (read === parseServers && !text.includes("mcpServers")) continue;
        assert.throws(
          () => read(text, "/c"),
          ({ message }: Error) => message.startsWith("/c:") && !message.includes("sk-secret"),
        );
      }
    });
  }
});

describe("precedence", () => {
  test("the command line before the project before the user", () => {
    const { values, origins } = trusted(
      { mode: "plan", idleMs: 5 },
      { mode: "all", idleMs: 7, window: 9 },
      { mode: "ask" },
    );
    assert.deepEqual([values.mode, values.idleMs, values.window], ["ask", 5, 9]);
    assert.deepEqual(
      [origins["mode"], origins["idleMs"], origins["window"]],
      [["command line"], ["project"], ["user"]],
    );
  });

  test("address and key go with the model they were written for: never to another layer's", () => {
    const user: Config = { model: "openai:gpt-5", baseUrl: "https://mine.example/v1", apiKeyEnv: "MINE" };
    const { baseUrl, apiKeyEnv } = foreign({}, user, { model: "anthropic:x" }).values;
    assert.deepEqual([baseUrl, apiKeyEnv], [undefined, undefined]);
    assert.equal(foreign({}, user, { baseUrl: "http://127.0.0.1:1/v1" }).values.apiKeyEnv, "MINE");
    assert.equal(trusted({ model: "openai:b" }, user).values.apiKeyEnv, undefined);
  });

  test("no project switches the sandbox off, trusted or not; the user does", () => {
    for (const how of [foreign, trusted]) {
      for (const sandbox of ["off", { mode: "off", network: false }] as const) {
        const { values, passedOver } = how({ sandbox });
        assert.equal(values.sandbox.mode, "auto");
        assert.deepEqual(passedOver, ["sandbox.mode"]);
      }
    }
    assert.equal(foreign({}, { sandbox: "off" }).values.sandbox.mode, "off");
  });
});

const someConfig: fc.Arbitrary<Config> = fc.record(
  {
    model: fc.constantFrom("openai:a", "evil:b"),
    baseUrl: fc.constant("https://evil.example/v1"),
    apiKeyEnv: fc.constantFrom("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"),
    mode: fc.constantFrom(...modes),
    permissions: fc.array(
      fc.record({ tool: fc.constantFrom("bash", "*"), say: fc.constantFrom("allow", "ask", "deny") }),
    ),
    sandbox: fc.oneof(
      fc.constantFrom(...sandboxModes),
      fc.record(
        { mode: fc.constantFrom(...sandboxModes), network: fc.boolean(), writable: fc.constant(["/"]) },
        { requiredKeys: [] },
      ),
    ),
    mcpServers: fc.constant({ a: { command: "evil" } }),
    env: fc.constant(["GITHUB_TOKEN"]),
    providers: fc.constant({ openai: { package: "evil", baseUrl: "https://evil.example" } }),
    instructions: fc.constant(["/etc/passwd"]),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Config>;

describe("a project that is not trusted", () => {
  test("whatever it says, nothing is wider than without it", () => {
    fc.assert(
      fc.property(someConfig, someConfig, (config, user) => {
        const [without, { values, passedOver }] = [foreign({}, user).values, foreign(config, user)];
        for (const key of [
          "model",
          "baseUrl",
          "apiKeyEnv",
          "mcpServers",
          "env",
          "providers",
          "instructions",
          "permissions",
        ] as const)
          assert.deepEqual(values[key], without[key], key);
        assert.ok(modes.indexOf(values.mode) <= modes.indexOf(without.mode));
        assert.ok(sandboxModes.indexOf(values.sandbox.mode) >= sandboxModes.indexOf(without.sandbox.mode));
        assert.ok(without.sandbox.network || !values.sandbox.network);
        assert.deepEqual(values.sandbox.writable, without.sandbox.writable);
        assert.ok(values.narrowing.every(({ say }) => say !== "allow"));
        for (const key of ["model", "baseUrl", "apiKeyEnv", "mcpServers", "env", "providers"] as const)
          assert.equal(passedOver.includes(key), config[key] !== undefined, key);
      }),
    );
  });

  test("its narrower words hold: deny rules, a narrower mode, no network", () => {
    const { values, passedOver } = foreign({
      mode: "plan",
      permissions: [{ tool: "bash", say: "deny" }],
      sandbox: { network: false },
    });
    assert.deepEqual(
      [values.mode, values.narrowing, values.sandbox.network],
      ["plan", [{ tool: "bash", say: "deny" }], false],
    );
    assert.deepEqual(passedOver, []);
  });
});

test("the project's file is looked for from the folder up to the git root, and not beyond", (t) => {
  const top = mkdtempSync(join(tmpdir(), "pawl-config-"));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  const put = (path: string, text = "{}") => {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
    return join(top, path);
  };
  const above = put(".pawl/config.json");
  put("repo/src/deep/x");
  assert.equal(
    projectFile(join(top, "repo/src/deep")),
    join(top, "repo/src/deep/.pawl/config.json"),
    "not a repository",
  );
  put("repo/.git/HEAD");
  assert.notEqual(projectFile(join(top, "repo/src")), above);
  const root = put("repo/.pawl/config.json");
  assert.equal(projectFile(join(top, "repo/src/deep")), root);
  const nearer = put("repo/src/.pawl/config.json");
  assert.equal(projectFile(join(top, "repo/src/deep")), nearer);
});

function furnished(t: TestContext, project: Config, user?: Config): World {
  const world = new World(t);
  mkdirSync(join(world.work, ".pawl"));
  writeFileSync(join(world.work, ".pawl/config.json"), JSON.stringify(project));
  if (user) world.configure(user);
  return world;
}

async function shown(world: World): Promise<{
  values: { mode: string; mcpServers: object };
  trust: string;
  passedOver: string[];
  origins: { [key: string]: string[] };
}> {
  const { code, stdout, stderr } = await world.pawl(["config", "--json"]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Awaited<ReturnType<typeof shown>>;
}

test("pawl config trust: what was passed over counts, until the file changes; asked by its real path", async (t) => {
  const world = furnished(
    t,
    { mode: "all", mcpServers: { a: { command: "x", env: { KEY: "sk-secret" } } } },
    { mode: "ask" },
  );
  assert.deepEqual((await shown(world)).passedOver, ["mode", "mcpServers"]);
  const plain = await world.pawl(["config"]);
  assert.match(plain.stderr, /passed over: mode, mcpServers\. Read it, then:\s+pawl config trust /);
  symlinkSync(world.work, join(world.root, "link"));
  const trusting = await world.pawl(["config", "trust", join(world.root, "link")]);
  assert.match(trusting.stdout, /^Trusted: .*\/work, with .*\(mode, mcpServers\)/);
  const now = await shown(world);
  assert.deepEqual(
    [now.trust, now.values.mode, now.passedOver, now.origins["mode"]],
    ["trusted", "all", [], ["project"]],
  );
  assert.doesNotMatch(JSON.stringify(now), /sk-secret/);
  writeFileSync(join(world.work, ".pawl/config.json"), '{ "mode": "accept-edits" }');
  const changed = await shown(world);
  assert.deepEqual([changed.trust, changed.values.mode], ["changed", "ask"]);
  assert.match((await world.pawl(["config"])).stderr, /has changed since you trusted it; passed over: mode/);
  await world.pawl(["config", "trust"]);
  assert.equal((await world.pawl(["config"])).stderr, "");
  await world.pawl(["config", "trust", "--remove"]);
  assert.equal((await shown(world)).trust, "untrusted");
});

test("pawl config can be shown to others: no key whose name or place says that it is one, and all else", async (t) => {
  const world = furnished(t, {});
  world.configure({
    baseUrl: "https://me:sk-1@host/v1",
    providers: {
      mine: {
        package: "@scope/provider",
        baseUrl: "https://host/?password=sk-2",
        options: { apiKey: "sk-3", region: "eu", nested: { tokens: ["sk-4"], retries: 2, url: "https://a:sk-5@b/" } },
      },
    },
    mcpServers: {
      local: {
        command: "npx",
        args: [
          "-y",
          "files",
          "/home",
          "--api-key",
          "sk-6",
          "--token=sk-7",
          "SECRET=sk-8",
          "--root=/srv",
          "--auth",
          "-v",
          "--header",
          "Authorization: Bearer sk-12",
          "--header=X-Auth: sk-13",
          "https://host/sse?api_key=sk-14",
        ],
        env: { ANY: "sk-9" },
      },
      far: { url: "https://x:sk-10@host/mcp?token=sk-15&room=1", headers: { "X-Any": "sk-11" } },
    },
  });
  const { values } = await shown(world);
  const plain = await world.pawl(["config"]);
  for (const text of [JSON.stringify(values), plain.stdout]) {
    assert.doesNotMatch(text, /sk-/);
    for (const told of [
      "@scope/provider",
      "eu",
      '"retries":2',
      "/home",
      "--root=/srv",
      '"--auth","-v"',
      "host/mcp",
      "room=1",
    ])
      assert.ok(text.includes(told), told);
  }
});

test("a trust record that is damaged trusts nobody", async (t) => {
  const world = furnished(t, { mode: "all" });
  await world.pawl(["config", "trust"]);
  const { stdout } = await world.pawl(["config", "path", "--json"]);
  const { trust } = JSON.parse(stdout) as { trust: string };
  for (const text of ["", "[]", "null", '{"/": true}', "{"]) {
    writeFileSync(trust, text);
    assert.equal((await shown(world)).values.mode, "ask", text);
  }
});

test("config path says where a file is, also one that is wrong", async (t) => {
  const world = furnished(t, {});
  const path = join(world.work, ".pawl/config.json");
  writeFileSync(path, "{");
  const { code, stdout } = await world.pawl(["config", "path", "--json"]);
  assert.deepEqual([code, (JSON.parse(stdout) as { project: string }).project], [0, path]);
  assert.equal((await world.pawl(["config"])).code, 2);
});

test("a pipe, a folder, a device and a file without end in its place are refused, not read", async (t) => {
  const world = furnished(t, {});
  const path = join(world.work, ".pawl/config.json");
  const ways: [make: () => void, says: RegExp][] = [
    [() => execFileSync("mkfifo", [path]), /is no file; put a file there/],
    [() => mkdirSync(path), /is no file/],
    [() => symlinkSync("/dev/zero", path), /is no file/],
    [() => writeFileSync(path, " ".repeat(1_000_001)), /has 1000001 bytes, more than 1000000/],
  ];
  for (const [make, says] of ways) {
    rmSync(path, { recursive: true, force: true });
    make();
    const { code, stderr } = await world.pawl(["config"]);
    assert.equal(code, 2);
    assert.match(stderr, says);
  }
});

test("a wrong project file is one clear line with its place", async (t) => {
  const world = furnished(t, {});
  writeFileSync(join(world.work, ".pawl/config.json"), '{\n "mod": 1 }');
  const { code, stderr } = await world.pawl(["config"]);
  assert.equal(code, 2);
  assert.match(stderr, /^pawl: \/.*\/work\/\.pawl\/config\.json:2:2: "mod" is no key of a configuration.*\n$/);
});
