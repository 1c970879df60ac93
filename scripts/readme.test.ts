/** Every example of the front door runs: programs are the files they name, command lines are tried for real. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { startModelServer } from "@pawl/model-server";
import { configSchema } from "../packages/cli/src/config/schema.ts";
import { root } from "./source.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "pawl-readme-"));
after(() => rmSync(folder, { recursive: true }));

interface Ended {
  code: number | null;
  output: string;
}

function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, PAWL_STORE: join(folder, "store"), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  child.on("error", reject).on("close", (code) => resolve({ code, output }));
  return promise;
}

test("each program in the README and the docs is the example file it names", () => {
  for (const page of ["README.md", "docs/recovery.md", "docs/telemetry.md", "docs/workspace.md"]) {
    const text = readFileSync(join(root, page), "utf8");
    const named = [...text.matchAll(/<!-- (examples\/\S+) -->\n```ts\n([\s\S]*?)```/g)];
    assert.ok(named.length > 0, page);
    for (const [, path = "", program] of named) assert.equal(program, readFileSync(join(root, path), "utf8"), path);
    assert.equal(named.length, [...text.matchAll(/```ts\n/g)].length, "a program without a file");
  }
});

for (const name of readdirSync(join(root, "examples")).filter((file) => file.endsWith(".ts"))) {
  test(`examples/${name} runs`, async () => {
    const { code, output } = await run([join(root, "examples", name)]);
    assert.equal(code, 0, output);
  });
}

test("each configuration that is shown is one", () => {
  const page = readFileSync(join(root, "docs/agent.md"), "utf8");
  const shown = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  assert.ok(shown.length > 0);
  for (const text of shown) configSchema.parse(JSON.parse(text));
});

test("each pawl command line in the README works", async () => {
  await using disposables = new AsyncDisposableStack();
  const server = await startModelServer({ script: { entries: [], fallback: [{ text: "Done." }] } });
  disposables.defer(() => server.close());
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.split("\n"));
  const lines = blocks.filter((line) => line.includes("npx pawl ")).map((line) => line.replace(/\s+#.*$/, " "));
  assert.ok(lines.length >= 6);
  const pawl = join(root, "packages/cli/bin/pawl.js");
  await run([pawl, "run", "first", "--session", "ID", "--model", "openai-chat:x", "--base-url", `${server.url}/v1`]);
  for (const line of lines) {
    const given = words(line.slice(line.indexOf("npx pawl ") + "npx pawl ".length));
    // Alone it is a chat, where there is a person to talk to.
    const args = given.length === 0 ? ["chat", "--model", "openai-chat:x"] : given;
    const asksModel = args.includes("--model");
    const keys = { OPENAI_API_KEY: "test", ANTHROPIC_API_KEY: "test" };
    const asksPerson = ["erase", "delete", "undo"].includes(args[0] ?? "");
    const extra = [...(asksModel ? ["--base-url", `${server.url}/v1`] : []), ...(asksPerson ? ["--yes"] : [])];
    const { code, output } = await run([pawl, ...args, ...extra], keys);
    // The session of the examples is whole and short: there is nothing to take up or to leave out, and that is said.
    const nothing = nothingTo[args[0] ?? ""];
    if (code !== 2 || nothing === undefined) assert.equal(code, 0, `${line}\n${output}`);
    else assert.match(output, nothing, line);
  }
});

const nothingTo: { [command: string]: RegExp } = {
  resume: /has no interrupted turn to resume/,
  continue: /has nothing to continue/,
  undo: /has changed no files/,
  diff: /has changed no files/,
};

function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}

test("each npm script and each link of the README exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  for (const [, name = ""] of readme.matchAll(/npm run ([\w-]+)/g)) assert.ok(scripts[name], `npm run ${name}`);
  for (const file of [
    "README.md",
    "CONTRIBUTING.md",
    "docs/agent.md",
    "docs/design.md",
    "docs/recovery.md",
    "docs/telemetry.md",
    "packages/model-server/README.md",
  ]) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      assert.ok(existsSync(join(root, dirname(file), link)), `${file} links to ${link}`);
    }
  }
});
