/** The demo: the main job, from the broken connection to the checked laws. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { World } from "./pawl-world.ts";

for (const protocol of ["openai-chat", "openai", "anthropic"]) {
  test(`the demo over ${protocol} fixes the project and leaves nothing behind`, async (t) => {
    const world = new World(t);
    const { code, stdout, stderr } = await world.pawl(["demo", "--protocol", protocol]);
    assert.equal(code, 0, stderr + stdout);
    assert.match(stdout, /Trying again in .* \(attempt 2 of 6\)/);
    assert.match(stdout, /✓ edit till\.js/);
    assert.match(stdout, /✓ done · /);
    assert.match(stdout, /pass 2/);
    assert.match(stdout, /0 of 10 laws broken/);
    assert.deepEqual(readdirSync(world.root).sort(), ["home", "work"]);
  });
}

test("a protocol that the demo does not speak is one clear line", async (t) => {
  const world = new World(t);
  const { code, stderr } = await world.pawl(["demo", "--protocol", "smoke"]);
  assert.equal(code, 2);
  assert.match(stderr, /^pawl: --protocol "smoke": one of openai-chat, openai, anthropic\n$/);
});
