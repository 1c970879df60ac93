import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-model-server-"));
});
after(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: Promise<string>;
  readonly end: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

function run(...args: string[]): Running {
  const child = spawn(process.execPath, [MAIN, ...args]);
  const url = Promise.withResolvers<string>();
  const end = Promise.withResolvers<{ code: number | null; stdout: string; stderr: string }>();
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    if (stdout.includes("\n")) url.resolve((JSON.parse(stdout) as { url: string }).url);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  child.on("close", (code) => end.resolve({ code, stdout, stderr }));
  return { child, url: url.promise, end: end.promise };
}

async function ask(url: string, key = "k"): Promise<Response> {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] });
  return fetch(`${url}/v1/chat/completions`, { method: "POST", body, headers: { authorization: `Bearer ${key}` } });
}

describe("pawl-model-server", { concurrency: true }, () => {
  it("prints one line, plays the script, logs a line for each request and ends cleanly on SIGTERM", async () => {
    const script = await file("good.json", JSON.stringify([[{ text: "Hello." }], { status: 429 }]));
    const { child, url, end } = run("--script", script);
    const answer = (await (await ask(await url)).json()) as { choices: { message: { content: string } }[] };
    assert.equal(answer.choices[0]?.message.content, "Hello.");
    assert.equal((await ask(await url)).status, 429);
    child.kill("SIGTERM");
    const { code, stdout, stderr } = await end;
    assert.equal(code, 0);
    assert.deepEqual(Object.keys(JSON.parse(stdout)), ["url"]);
    assert.equal(stdout.split("\n").length, 2);
    assert.match(stderr, /^#1 \/v1\/chat\/completions 200 finished\n#2 \/v1\/chat\/completions 429 finished\n$/);
  });

  it("ends with its parent, in the middle of a silence, and logs nothing when quiet", async () => {
    const script = await file("silent.json", JSON.stringify([[{ start: true }, { silence: true }]]));
    const { child, url, end } = run("--script", script, "--exit-with-parent", "--quiet");
    const asking = ask(await url).then(
      (response) => response.text(),
      (error: unknown) => error,
    );
    child.stdin.end();
    const { code, stderr } = await end;
    await asking;
    assert.equal(code, 0);
    assert.equal(stderr, "");
  });

  it("checks the key it was given", async () => {
    const script = await file("key.json", "[]");
    const { child, url, end } = run("--script", script, "--api-key", "right", "--quiet");
    assert.equal((await ask(await url, "wrong")).status, 401);
    child.kill("SIGINT");
    assert.equal((await end).code, 0);
  });

  const bad: [string, () => Promise<string[]>, RegExp][] = [
    ["no script", async () => [], /--script is missing \(usage: /],
    ["an unknown option", async () => ["--scripts", "x"], /Unknown option '--scripts'/],
    ["a file that is not there", async () => ["--script", join(folder, "none.json")], /none\.json: ENOENT/],
    ["a file that is no JSON", async () => ["--script", await file("bad.json", "{")], /bad\.json: .*JSON/],
    [
      "a script that is none",
      async () => ["--script", await file("none.json.json", '[[{"txt":1}]]')],
      /script\[0\]\[0\]: got {"txt":1}; allowed: exactly one of/,
    ],
    [
      "a port that is none",
      async () => ["--script", await file("ok.json", "[]"), "--port", "80a"],
      /--port: got "80a"; allowed: 0 \(a free port\) to 65535/,
    ],
    [
      "an unknown mood",
      async () => ["--script", await file("ok.json", "[]"), "--reasoning-content", "maybe"],
      /allowed: required, forbidden, accepted/,
    ],
  ];
  for (const [name, args, wording] of bad) {
    it(`bad input is one clear line and exit code 2: ${name}`, async () => {
      const { code, stdout, stderr } = await run(...(await args())).end;
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, wording);
      assert.match(stderr, /^pawl-model-server: [^\n]+\n$/);
    });
  }
});
