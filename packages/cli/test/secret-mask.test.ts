/** Secrets of this process stay out of results, progress, errors and the log. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { ToolSet } from "@pawl/core";
import fc from "fast-check";
import { withheldSecrets } from "../src/tools/command-env.ts";
import { maskedTools } from "../src/tools/masked-tools.ts";
import { MaskedStream, SecretMask } from "../src/tools/secret-mask.ts";
import { quickTimers, World } from "./pawl-world.ts";
import { Folder } from "./tools-call.ts";

test("in pieces of any size a stream says what it says whole, and never a secret or half of one", () => {
  const secrets = fc.uniqueArray(fc.stringMatching(/^[abX]{9,14}$/), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      secrets,
      fc.array(fc.oneof(fc.constantFrom(0, 1, 2), fc.stringMatching(/^[abX ]{0,6}$/)), { maxLength: 12 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (values, words, sizes) => {
        const text = words.map((word) => (typeof word === "number" ? (values[word] ?? "") : word)).join("");
        const mask = new SecretMask(values.map((value, at) => ({ name: `${at}`, value })));
        const stream = new MaskedStream(mask);
        let told = "";
        for (let at = 0; at < text.length; ) {
          const size = sizes.next().value ?? 1;
          told += stream.push(text.slice(at, at + size));
          at += size;
        }
        told += stream.end();
        for (const value of values) assert.ok(!told.includes(value), told);
        const only = values.length === 1 ? values[0] : undefined;
        if (only !== undefined) assert.equal(told, mask.text(text));
      },
    ),
  );
});

test("a secret that begins another is masked as the longer one, also when that comes later", () => {
  const mask = new SecretMask([
    { name: "A", value: "sk-123456789" },
    { name: "B", value: "sk-123456789-and-more" },
  ]);
  const stream = new MaskedStream(mask);
  assert.equal(stream.push("x sk-123456789") + stream.push("-and-more y") + stream.end(), "x [B] y");
});

test("short values are words, not secrets; a value with quotes is found inside of JSON, too", () => {
  assert.equal(new SecretMask([{ name: "A", value: "true" }]).text("true"), "true");
  const value = 'pass"word\\with';
  assert.equal(new SecretMask([{ name: "A", value }]).text(JSON.stringify({ value })), '{"value":"[A]"}');
});

test("a secret of several lines is masked line by line, too: some tools number them", () => {
  const lines = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0B",
    "AQEFAASCBKcwggSjAgEAAoIB",
    "-----END PRIVATE KEY-----",
  ];
  const mask = new SecretMask([{ name: "PEM", value: `${lines.join("\n")}\n` }]);
  const numbered = lines.map((line, at) => `${at + 1}\t${line}`).join("\n");
  assert.equal(mask.text(numbered), "1\t-----BEGIN PRIVATE KEY-----\n2\t[PEM]\n3\t[PEM]\n4\t-----END PRIVATE KEY-----");
  assert.equal(mask.text(`x ${lines.join("\n")}\n y`), "x [PEM] y");
});

test("a secret that a tool has cut at the edge of a long line is masked, too", async (t) => {
  const value = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz";
  const line = (before: number) => `${"x".repeat(before)}${value}needle${"y".repeat(3_000)}`;
  const files = {
    "read.txt": line(1_980),
    "grep.txt": line(500),
    "end.txt": `needle${"x".repeat(370)}${value}${"y".repeat(99)}`,
  };
  const folder = new Folder(t, files, { mask: new SecretMask([{ name: "KEY", value }]) });
  const told = [
    await folder.call("read", { path: "read.txt" }),
    await folder.call("grep", { pattern: "z?needle", path: "grep.txt" }),
    await folder.call("grep", { pattern: "wxyzneedle", path: "grep.txt" }),
    await folder.call("grep", { pattern: "needle", path: "end.txt" }),
    await folder.call("grep", { pattern: "needle", path: "read.txt" }),
  ].join("\n");
  assert.match(told, /\[KEY\]…/);
  assert.equal(/sk-proj|0123456|stuvwxyz/.exec(told), null);
  const mask = new SecretMask([{ name: "KEY", value }]);
  assert.equal(mask.text(`a…rstuvwxyz b ${value.slice(0, 9)}… c…d sk-…`), "a…[KEY] b [KEY]… c…d sk-…");
});

test("results, progress, streams, errors and their causes of any tool are masked; bytes are left alone", async () => {
  const mask = new SecretMask([{ name: "K", value: "sk-123456789" }]);
  const bytes = new Uint8Array([1, 2]);
  const tools = maskedTools(
    {
      plain: {
        execute(_: unknown, { progress }: { progress(data: unknown): void }) {
          progress({ output: "sk-123456789" });
          return { content: [{ text: "a sk-123456789" }], bytes };
        },
      },
      stream: {
        async *execute() {
          yield "sk-123456789";
        },
      },
      failing: {
        execute: async () => {
          throw new Error("no sk-123456789", { cause: new Error("sk-123456789") });
        },
      },
    } as unknown as ToolSet,
    mask,
  ) as unknown as { [name in "plain" | "stream" | "failing"]: { execute(input: unknown, context: unknown): unknown } };
  const progress: unknown[] = [];
  const context = { progress: (data: unknown) => progress.push(data) };
  assert.deepEqual(await tools.plain.execute({}, context), { content: [{ text: "a [K]" }], bytes });
  assert.deepEqual(progress, [{ output: "[K]" }]);
  for await (const value of (await tools.stream.execute({}, context)) as AsyncIterable<unknown>)
    assert.equal(value, "[K]");
  await assert.rejects(tools.failing.execute({}, context) as Promise<unknown>, (error: Error) => {
    assert.deepEqual([error.message, (error.cause as Error).message], ["no [K]", "[K]"]);
    return true;
  });
});

test("what is withheld from commands is what is masked", () => {
  const env = { PATH: "/bin", OPENAI_API_KEY: "sk-1", GITHUB_TOKEN: "gh", NODE_TEST_CONTEXT: "child" };
  assert.deepEqual(withheldSecrets(env, ["GITHUB_TOKEN"]), [{ name: "OPENAI_API_KEY", value: "sk-1" }]);
});

test("a key that a file of the project holds is in no event, no request and no output", async (t) => {
  const world = new World(t);
  const key = "sk-proj-0123456789abcdef";
  const half = `${key.slice(0, 9)}' '${key.slice(9)}`;
  const server = await world.server([
    [{ call: "write", input: { path: "found.txt", content: "x" } }],
    [
      {
        call: "bash",
        input: {
          command: `printf '%s%s' '${half}'; sleep 0; printf '%s%s\\n' '${half}' | tee found.txt; echo "env:$LLM_PASS."`,
        },
      },
    ],
    [{ call: "read", input: { path: "found.txt" } }],
    [{ text: "Done." }],
  ]);
  const args = ["run", "Go", "--session", "s", "--yes", "--json", ...world.place(server), "--api-key-env", "LLM_PASS"];
  const { code, stdout, stderr } = await world.pawl(args, { LLM_PASS: key });
  assert.equal(code, 0, stderr);
  assert.equal(world.read("found.txt").trim(), key, "the file itself is untouched");
  const log = (await world.shown("s")).join("\n");
  for (const [what, text] of [
    ["output", stdout],
    ["log", log],
    ["requests", JSON.stringify(server.requests.map(({ body }) => body))],
  ] as const)
    assert.ok(!text.includes(key), `the ${what} has the key`);
  assert.match(log, /\[LLM_PASS\]/);
  assert.match(log, /env:\./, "the key's own variable is not passed on, whatever it is called");
});

for (const status of [401, 200])
  test(`a key that the provider repeats in its error (status ${status}) is not logged, not shown, not told to a model`, async (t) => {
    const world = new World(t);
    const server = createServer(({ headers }, response) => {
      const error = {
        error: { message: `Incorrect API key provided: ${headers.authorization}`, type: "invalid_request_error" },
      };
      const type = status === 200 ? "text/event-stream" : "application/json";
      const body = JSON.stringify(error);
      response.writeHead(status, { "content-type": type }).end(status === 200 ? `data: ${body}\n\n` : body);
    }).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const key = "sk-proj-0123456789abcdef";
    const model = ["--model", "openai-chat:x", "--base-url", `http://127.0.0.1:${port}/v1`];
    const place = [...model, "--cwd", world.work, "--store", world.store];
    const env = { OPENAI_API_KEY: key, ...quickTimers };
    for (const [session, ...rest] of [["s"], ["j", "--json"]]) {
      const { code, stdout, stderr } = await world.pawl(
        ["run", "Go", "--session", `${session}`, ...rest, ...place],
        env,
      );
      assert.notEqual(code, 0);
      assert.match(stdout + stderr, /Incorrect API key provided: Bearer \[OPENAI_API_KEY\]/);
      const log = (await world.shown(`${session}`)).join("\n");
      assert.match(log, /\[OPENAI_API_KEY\]/);
      assert.ok(![stdout, stderr, log].join("").includes(key));
    }
  });
