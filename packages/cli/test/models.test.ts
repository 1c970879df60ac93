/** Which model is taken, from what is said and what is there; packages of providers; servers on this machine. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { chooseModel } from "../src/model.ts";
import { packageModel } from "../src/models/package.ts";
import { localServer } from "../src/models/server.ts";
import { lastLine, quickTimers, World } from "./pawl-world.ts";

describe("without --model", () => {
  test("a key in the environment chooses, in a fixed order, and it says why", async () => {
    const both = await chooseModel({}, { env: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "a", GROQ_API_KEY: "g" } });
    assert.match(both.word, /^anthropic:claude/);
    assert.match(both.why ?? "", /ANTHROPIC_API_KEY is set.*--model/);
    const one = await chooseModel({}, { env: { GROQ_API_KEY: "g" } });
    assert.deepEqual([one.word, one.url, one.key], ["groq:openai/gpt-oss-120b", "https://api.groq.com/openai/v1", "g"]);
    assert.equal(one.model.provider, "groq.chat");
  });

  test("no key: the demo, the variables and the flag for a local server are named", async (t) => {
    const { code, stderr } = await new World(t).pawl(["run", "Hi"]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^pawl: no model: set one of ANTHROPIC_API_KEY, OPENAI_API_KEY.*--local.*--model PROVIDER:ID.*pawl demo\n$/,
    );
  });

  test("the user's configuration names it, and a server of one's own gets no key of another", async (t) => {
    const world = new World(t);
    const server = await world.server([[{ text: "Hello." }]]);
    world.configure({ model: "mine:scripted", providers: { mine: { baseUrl: server.baseUrl("chat") } } });
    const { code, stdout, stderr } = await world.pawl(["run", "Hi", "--json", "--store", world.store], {
      OPENAI_API_KEY: "sk-never-sent",
    });
    assert.equal(code, 0, stderr);
    assert.equal(lastLine(stdout).text, "Hello.");
    assert.doesNotMatch(JSON.stringify(server.requests), /sk-never-sent/);
  });

  test("a foreign project's model, address and key are passed over, and one line says so", async (t) => {
    const world = new World(t);
    const evil = await world.server([[{ text: "Evil." }]]);
    const good = await world.server([[{ text: "Good." }]]);
    mkdirSync(join(world.work, ".pawl"));
    const project = { model: "openai-chat:scripted", baseUrl: evil.baseUrl("chat"), apiKeyEnv: "MY_TOKEN" };
    writeFileSync(join(world.work, ".pawl/config.json"), JSON.stringify(project));
    world.configure({ model: "openai-chat:scripted", baseUrl: good.baseUrl("chat") });
    const { stdout, stderr } = await world.pawl(["run", "Hi", "--json", "--store", world.store], { MY_TOKEN: "t" });
    assert.equal(lastLine(stdout).text, "Good.", stderr);
    assert.equal(evil.requests.length, 0);
    assert.match(stderr, /passed over: model, baseUrl, apiKeyEnv\. Read it, then: pawl config trust/);
  });
});

describe("--local", () => {
  test("takes the first model that can talk, says so, and its run can be gone on with", async (t) => {
    const world = new World(t);
    const server = await world.server([[{ text: "Hello." }]]);
    const root = server.baseUrl("chat").replace(/\/v1$/, "");
    const { code, stdout, stderr } = await world.pawl(["run", "Hi", "--store", world.store, "--local", root]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), "Hello.");
    assert.match(stderr, /openai-chat:scripted in .*\n.*this model since the server at http.*: its only model/);
  });

  test("the first of the well-known servers that has a model is taken; one that hangs up or errs is passed over", async (t) => {
    const answering = await listening(
      t,
      200,
      JSON.stringify({ data: [{ id: "nomic-embed-text" }, { id: "qwen3" }, {}] }),
    );
    const empty = await listening(t, 200, '{"data":[]}');
    const broken = await listening(t, 500, "no");
    const html = await listening(t, 200, "<html>");
    const servers = [broken, html, empty, answering].map((url, at) => ({ name: `S${at}`, url }));
    const found = await localServer(undefined, servers);
    assert.deepEqual([found.name, found.models], ["S3", ["nomic-embed-text", "qwen3"]]);
    await assert.rejects(
      localServer(undefined, servers.slice(0, 3)),
      /no model at .*answers 500.*no model is loaded.*start a server/,
    );
    const chosen = await chooseModel({ local: answering }, { env: {} });
    assert.equal(chosen.word, "openai-chat:qwen3");
    await assert.rejects(
      chooseModel({ local: answering, model: "llama" }, { env: {} }),
      /"llama": the server at .* has nomic-embed-text, qwen3/,
    );
  });

  test("a prompt that was taken for the address is recognized", async (t) => {
    const { code, stderr } = await new World(t).pawl(["run", "--local", "fix the test", "x"]);
    assert.equal(code, 2);
    assert.match(stderr, /--local "fix the test" is no URL.*put the prompt before --local/);
  });
});

async function listening(t: TestContext, status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A provider package as the AI SDK's own look: a factory, a default instance, other exports. */
const providerCode = `
import { appendFileSync } from "node:fs";
appendFileSync(new URL("./loaded", import.meta.url), "x");
export const VERSION = "1";
export function createHelper() { throw new Error("not this one"); }
export function createAcmeGenerativeAI(settings) {
  const model = (id) => ({
    specificationVersion: settings.old ? "v2" : "v4", provider: "acme.chat", modelId: id, supportedUrls: {},
    settings, doGenerate() {}, doStream() {},
  });
  return Object.assign((id) => model(id), { languageModel: model });
}`;

function installPackage(
  folder: string,
  name: string,
  exports: unknown = { ".": { types: "./i.d.ts", import: "./dist/index.mjs" } },
  code = providerCode,
): string {
  const at = join(folder, "node_modules", name);
  mkdirSync(join(at, "dist"), { recursive: true });
  writeFileSync(join(at, "package.json"), JSON.stringify({ name, type: "module", exports, main: "dist/index.mjs" }));
  writeFileSync(join(at, "dist/index.mjs"), code);
  return at;
}

describe("a provider package by name", () => {
  test("its factory is found, and gets our fetch, the key and the address", async (t) => {
    const { root } = new World(t);
    for (const [name, exports] of [
      ["@ai-sdk/acme", undefined],
      ["@ai-sdk/acmetwo", "./dist/index.mjs"],
      ["acme", { node: { default: "./dist/index.mjs" }, require: "./no.cjs" }],
    ] as const) {
      const folder = installPackage(root, name, exports);
      const chosen = await packageModel({ name, folder }, "m:1", { apiKey: "k", baseURL: "http://x/v1" });
      const { settings } = chosen as unknown as { settings: { fetch: unknown; apiKey: string; baseURL: string } };
      assert.deepEqual(
        [chosen.modelId, typeof settings.fetch, settings.apiKey, settings.baseURL],
        ["m:1", "function", "k", "http://x/v1"],
      );
    }
  });

  test("one that is old, broken or no provider is refused with what to do", async (t) => {
    const { root } = new World(t);
    const cases: [code: string, settings: object, says: RegExp][] = [
      [providerCode, { old: true }, /made for another AI SDK \(specification "v2", needed is "v4"\); update it/],
      ["throw new Error('boom')", {}, /cannot be loaded: boom; install it again/],
      ["export const x = 1;", {}, /is no AI SDK provider: it exports no create/],
      [
        "export function createX() { throw new Error('apiKey is missing'); }",
        {},
        /refuses its settings: apiKey is missing/,
      ],
      ["export function createX() { return { languageModel: () => 7 }; }", {}, /gives no language model/],
    ];
    for (const [at, [code, settings, says]] of cases.entries()) {
      const folder = installPackage(root, `p${at}`, undefined, code);
      await assert.rejects(packageModel({ name: `p${at}`, folder }, "m", { ...settings }), says);
    }
  });

  test("of the user's folder it is found; of a project's folder only once that is trusted", async (t) => {
    const world = new World(t, quickTimers);
    installPackage(world.work, "@ai-sdk/acme");
    const run = () => world.pawl(["run", "Hi", "--model", "acme:m", "--json", "--store", world.store]);
    const refused = await run();
    assert.match(
      refused.stderr,
      /--model "acme:m": there is no such provider.*npm install --prefix \S+\/\.config\/pawl @ai-sdk\/acme\n/,
    );
    assert.throws(() => world.read("node_modules/@ai-sdk/acme/dist/loaded"), "its code was run");
    await world.pawl(["config", "trust"]);
    await run();
    assert.equal(world.read("node_modules/@ai-sdk/acme/dist/loaded"), "x");
    const { stdout } = await world.pawl(["models", "@ai-sdk/acme", "--json"]);
    assert.match(stdout, /"usable":true/);
  });
});

test("pawl models: what a server has, what is missing for the others", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  world.configure({ providers: { mine: { baseUrl: server.baseUrl("chat") }, other: { package: "@x/y" } } });
  const { stdout, stderr } = await world.pawl(["models", "--json"]);
  const rows = new Map(
    stdout
      .trim()
      .split("\n")
      .map((row) => [
        (JSON.parse(row) as { provider: string }).provider,
        JSON.parse(row) as { usable: boolean; why: string; models: string[] },
      ]),
  );
  assert.deepEqual(rows.get("mine")?.models, ["scripted"], stderr);
  assert.match(rows.get("anthropic")?.why ?? "", /ANTHROPIC_API_KEY is not set/);
  assert.match(rows.get("other")?.why ?? "", /@x\/y is not installed: npm install/);
  const plain = await world.pawl(["models", "mine"]);
  assert.match(plain.stdout, /✓ mine .*\n {4}mine:scripted\n/);
  assert.match((await world.pawl(["models", "nope"])).stderr, /"nope" is no provider; known are anthropic/);
});
