import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseScript } from "../src/index.ts";
import { HELLO, modelOf, plain, serving } from "./provider.ts";

const README = await readFile(new URL("../README.md", import.meta.url), "utf8");

function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map((match) => match[1] ?? "");
}

describe("the README's examples", () => {
  it("print what their comments say", async () => {
    for (const code of blocks("ts")) {
      // Run from the package's folder, so that the imports resolve as they would for a user.
      const cwd = fileURLToPath(new URL("..", import.meta.url));
      const args = ["--input-type=module-typescript", "--eval", code];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
      const expected = [...code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
      assert.ok(expected.length > 0);
      assert.deepEqual(stdout.trim().split("\n"), expected);
    }
  });

  it("play as a JSON script", async () => {
    const [json] = blocks("json");
    await serving({ script: parseScript(JSON.parse(json ?? "")) }, async (server) => {
      const model = modelOf(server, "chat");
      const first = await model.doGenerate({ prompt: HELLO });
      assert.deepEqual(plain(first.content), [
        ["reasoning", "Look first."],
        ["call", "read", '{"file":"a.txt"}'],
      ]);
      await assert.rejects(Promise.resolve(model.doGenerate({ prompt: HELLO })), /JSON/);
      await assert.rejects(Promise.resolve(model.doGenerate({ prompt: HELLO })), /overloaded/);
    });
  });

  it("list every kind of step", () => {
    const table = README.slice(README.indexOf("## Steps"), README.indexOf("## The judge"));
    const known = /exactly one of (.*)$/.exec(messageOf(() => parseScript([[{}]])))?.[1]?.split(", ") ?? [];
    assert.ok(known.length > 15);
    for (const kind of known) assert.match(table, new RegExp(`\\{${kind}\\b`), kind);
  });
});

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}
