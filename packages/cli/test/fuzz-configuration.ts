/** Configuration, the user's, a project's and that of other agents' servers: read, or refused at its place; then every order of layers. */
import assert from "node:assert/strict";
import { isPawlError } from "@pawl/core";
import { type ParseError, parse } from "jsonc-parser";
import { parseConfig } from "../src/config/file.ts";
import { resolveConfig } from "../src/config/layer.ts";
import { type Config, modes } from "../src/config/schema.ts";
import { parseServers } from "../src/mcp/config-file.ts";
import { assertOneLine, assertUnpolluted, bytesOf, type Target, textOf } from "./fuzz-ground.ts";

/** Whoever holds it can pay with it: where it stands in the seeds is where people keep theirs. */
const secret = "canary-4b1f0c7e";

const servers = {
  files: { command: "files", args: ["--token", secret], env: { FILES_KEY: secret }, trusted: true, timeoutMs: 5 },
  far: { type: "http", url: `https://me:${secret}@far.example/mcp?key=1`, headers: { Authorization: secret } },
};

const layers: Config[] = [
  {
    model: "openai:gpt-5",
    baseUrl: `https://me:${secret}@models.example/v1`,
    apiKeyEnv: "MODELS_KEY",
    store: `postgres://me:${secret}@db.example/pawl`,
    mode: "all",
    mcpServers: servers as Config["mcpServers"] & object,
    instructions: ["~/mine.md"],
  },
  {
    mode: "plan",
    window: 9,
    permissions: [
      { tool: "bash", input: { command: "git *" }, effect: "write", say: "allow" },
      { input: { path: "**/.env" }, say: "deny" },
    ],
    sandbox: { mode: "require", network: false, writable: ["~/a"], hidden: ["~/b"] },
    providers: { near: { protocol: "openai-chat", baseUrl: "http://127.0.0.1:1/v1", keyEnv: "NEAR_KEY" } },
  },
  {
    $schema: "./config.schema.json",
    idleMs: 0,
    sandbox: "off",
    env: ["GITHUB_TOKEN"],
    providers: { own: { package: "@me/own", options: { apiKey: secret, more: [{ deep: null }] } } },
    pricing: { "openai:gpt-5": { input: 1, output: 2.5, cacheRead: 0 } },
    currency: "EUR",
  },
];

const commented = `// mine\n${JSON.stringify(layers[0], undefined, 1)
  .replace('"all"', '/* all */ "all"')
  .replace(/\n\}$/, ",\n}")}\n`;

export function target(): Target {
  const seeds = [
    commented,
    layers.map((layer) => JSON.stringify(layer)).join("\n"),
    JSON.stringify({ mcpServers: servers }),
  ];
  const words = [
    "//",
    "/*",
    "*/",
    ",",
    ":",
    '"',
    "{",
    "}",
    '"__proto__":',
    '"constructor":',
    '"env":',
    '"url":',
    '"mode":',
    "\\u001b",
  ];
  return { seeds: seeds.map(bytesOf), words, run: async (input) => judge(textOf(input)) };
}

/** All of it is a file, and so is each of its first lines: those that hold are laid over one another. */
function judge(text: string): void {
  const texts = [text, ...text.split("\n").slice(0, 3)];
  const configs = texts.map(read).filter((config) => config !== undefined);
  for (const one of texts) outcomeOf(one, () => parseServers(one, path));
  for (const [user, project, flags] of orders(configs)) merge(user, project, flags);
  assertUnpolluted();
}

const path = "/home/a/config.json";

function read(text: string): Config | undefined {
  const said = outcomeOf(text, () => parseConfig(text, path));
  assert.deepEqual(
    outcomeOf(text, () => parseConfig(text, path)),
    said,
    "what is read twice reads the same",
  );
  if (typeof said === "string") {
    assert.match(
      said,
      /^\/home\/a\/config\.json:\d+:\d+: .+(?:;| here| before this)/,
      "an error names its place and what to do",
    );
    return undefined;
  }
  const again = JSON.stringify(said);
  assert.equal(JSON.stringify(parseConfig(again, path)), again, "what is written again reads the same");
  for (const odd of oddities(said)) {
    const refused = outcomeOf(odd, () => parseConfig(odd, path));
    assert.match(String(refused), /: "zz" is no key of /, "an unknown key is named");
  }
  return said;
}

/** The value, or the words of the refusal. */
function outcomeOf<T>(text: string, what: () => T): T | string {
  try {
    return what();
  } catch (error) {
    if (!isPawlError(error, "INVALID_INPUT")) throw error;
    assertOneLine(error.message, 2_000);
    if (holdsSecrets(text)) assert.ok(!error.message.includes(secret), `a secret is told: ${error.message}`);
    return error.message;
  }
}

/** Whether the secret stands where secrets do, and nowhere else; in what is no JSON nobody knows where it stands. */
function holdsSecrets(text: string): boolean {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  return errors.length > 0 || occurrences(text) === secretsIn(value, false);
}

const occurrences = (text: string) => text.split(secret).length - 1;

function secretsIn(value: unknown, isKept: boolean, isAddress = false): number {
  if (typeof value === "string") {
    const kept = isKept || (isAddress && value.includes(`:${secret}@`));
    return kept ? occurrences(value) : 0;
  }
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const [key, inner] of Object.entries(value)) {
    const kept = isKept || /^(?:env|headers|args|options|apiKeyEnv|keyEnv)$/.test(key);
    count += secretsIn(inner, kept, isAddress || /^(?:baseUrl|url|store)$/.test(key));
  }
  return count;
}

/** The same with one unknown key more: at the top, and in each thing whose keys are known. */
function oddities(config: Config): string[] {
  const { permissions = [], sandbox, mcpServers = {}, providers = {}, pricing = {} } = config;
  const things = [permissions, ...[mcpServers, providers, pricing].map((record) => Object.values(record))].flat();
  const whole = typeof sandbox === "object" ? [config, sandbox, ...things] : [config, ...things];
  return whole.slice(0, 8).map((thing) => {
    const fields = thing as { zz?: number };
    fields.zz = 1;
    const text = JSON.stringify(config);
    delete fields.zz;
    return text;
  });
}

function orders(configs: readonly Config[]): [Config, Config, Config][] {
  const [a = {}, b = {}, c = {}] = configs;
  return [
    [a, b, c],
    [a, c, b],
    [b, a, c],
    [b, c, a],
    [c, a, b],
    [c, b, a],
  ];
}

function merge(user: Config, config: Config, flags: Config): void {
  for (const trusted of [true, false]) {
    const { values, origins, passedOver } = resolveConfig({ flags, project: { config, trusted }, user });
    assert.ok(JSON.stringify({ values, origins, passedOver }));
    for (const { say } of config.permissions ?? []) {
      if (say !== "deny") continue;
      assert.ok(
        [...values.permissions, ...values.narrowing].some((rule) => rule.say === "deny"),
        "a deny of any file stands",
      );
    }
    if (!trusted && flags.mode === undefined)
      assert.ok(modes.indexOf(values.mode) <= modes.indexOf(user.mode ?? "ask"), "a foreign file only narrows");
  }
}
