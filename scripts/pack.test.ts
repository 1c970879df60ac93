/** What is published, used as a stranger would: packed, installed into an empty folder, without this repository. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build, published } from "./build.ts";
import { root } from "./source.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-pack-"));
after(() => rmSync(folder, { recursive: true }));
const app = join(folder, "app");

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}\n${error ?? ""}${stdout}${stderr}`);
  return stdout;
}

test("the packages build, pack and install into an empty folder", () => {
  build(join(folder, "dist"));
  const tarballs = published.map((name) => {
    const [tarball = ""] = run("npm", ["pack", "--silent", "--pack-destination", folder], join(folder, "dist", name))
      .trim()
      .split("\n");
    return join(folder, tarball);
  });
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...tarballs], app);
});

const pawl = join(app, "node_modules/pawl/bin/pawl.js");

test("pawl runs: its version, and the whole demo", () => {
  assert.match(run(process.execPath, [pawl, "--version"], app), /^\d+\.\d+\.\d+\n$/);
  assert.match(run(process.execPath, [pawl, "demo"], app), /0 of 10 laws broken/);
});

test("the library runs, and its types are those of the sources", () => {
  const program = `
    import { createSession, memoryStore } from "@pawl/core";
    import { recover } from "@pawl/core/node";
    import { record } from "@pawl/otel";
    import { FakeEffects, fakeHolder, finish, say, scriptedModel } from "@pawl/core/testing";
    const effects = new FakeEffects();
    const runtime = { store: memoryStore(effects), effects, holder: fakeHolder() };
    const session = await createSession(runtime);
    const turn = session.run({ model: recover(scriptedModel([[...say("hello"), finish()]])) }, "hi");
    const { text }: { text: string } = await turn.result;
    record(await session.entries(), {});
    console.log(text);
  `;
  writeFileSync(join(app, "program.ts"), program);
  assert.equal(run(process.execPath, ["program.ts"], app), "hello\n");
  mkdirSync(join(app, "node_modules/@types"), { recursive: true });
  symlinkSync(join(root, "node_modules/@types/node"), join(app, "node_modules/@types/node"));
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--types",
    "node",
  ];
  run(join(root, "node_modules/.bin/tsc"), [...options, "--lib", "es2024,esnext.disposable,dom", "program.ts"], app);
  writeFileSync(join(app, "program.ts"), program.replace("text: string", "text: number"));
  assert.throws(() =>
    run(join(root, "node_modules/.bin/tsc"), [...options, "--lib", "es2024,esnext.disposable,dom", "program.ts"], app),
  );
});
