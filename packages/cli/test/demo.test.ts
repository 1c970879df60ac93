/** The demo: the main job, from the broken connection over the killed agent to the checked laws. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { World } from "./pawl-world.ts";

const told = [
  /Trying again in .* \(attempt 2 of 6\)/,
  /✓ edit till\.js/,
  /✗ kill -9 \d+: the agent is gone; node publish\.js \(\d+\) is still at it\n\n── Another process/,
  /✓ bash node publish\.js · .*reconcile\n {2}│ uploading till 1\.0\.1 \.\.\.\n {2}│ published till 1\.0\.1\n/,
  /published\.log has 1 line, so node publish\.js ran once:\n {2}│ till 1\.0\.1, by process \d+\nThe log has the whole output/,
  /✓ done · /,
  /pass 2/,
  /0 of 10 laws broken/,
];

for (const protocol of ["openai-chat", "openai", "anthropic"]) {
  test(`the demo over ${protocol} fixes the project, survives a kill and leaves nothing behind`, async (t) => {
    const world = new World(t);
    // A person's own settings are none of the demo's.
    world.configure({ mode: "plan", sandbox: "require", permissions: [{ say: "deny" }] });
    const { code, stdout, stderr } = await world.pawl(["demo", "--protocol", protocol]);
    assert.equal(code, 0, stderr + stdout);
    for (const words of told) assert.match(stdout, words);
    assert.deepEqual(readdirSync(world.root).sort(), [".config", "home", "work"]);
  });
}

test("what the demo says of the kill is so: two drivers, one run of the command, its output in the log", async (t) => {
  const world = new World(t);
  const { code, stdout, stderr } = await world.pawl(["demo", "--keep"]);
  assert.equal(code, 0, stderr + stdout);
  const folder = /^Kept: (.*)$/m.exec(stdout)?.[1] ?? "";
  const journal = readFileSync(join(folder, "project", "published.log"), "utf8");
  const pid = /\((\d+)\) is still at it/.exec(stdout)?.[1];
  assert.equal(journal, `till 1.0.1, by process ${pid}\n`);
  const shown = await world.pawl(["show", "demo", "--json", "--store", join(folder, "store")]);
  const events = shown.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; call?: string; by?: string; output?: unknown });
  const { call } = events.findLast(({ type }) => type === "tool.entered") ?? {};
  const settled = events.filter((event) => event.type === "tool.settled" && event.call === call);
  assert.deepEqual(
    settled.map(({ by, output }) => ({ by, output })),
    [
      {
        by: "reconcile",
        output: {
          content: [{ type: "text", text: "uploading till 1.0.1 ...\npublished till 1.0.1\n[exit code 0]" }],
          isError: false,
        },
      },
    ],
  );
});

test("a protocol that the demo does not speak is one clear line", async (t) => {
  const world = new World(t);
  const { code, stderr } = await world.pawl(["demo", "--protocol", "smoke"]);
  assert.equal(code, 2);
  assert.match(stderr, /^pawl: --protocol "smoke": one of openai-chat, openai, anthropic\n$/);
});
