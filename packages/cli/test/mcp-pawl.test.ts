/** MCP servers through the real binary. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventsOf, lastLine, World } from "./pawl-world.ts";
import { appears, killed } from "./supervisor-world.ts";

const odd = fileURLToPath(new URL("./mcp-odd-server.ts", import.meta.url));

function configured(world: World, servers: object): string {
  const path = join(world.root, "mcp.json");
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
}

function oddServer(world: World, extra: object = {}): object {
  const args = [odd, "good", join(world.root, "effects"), join(world.root, "starts")];
  return { command: process.execPath, args, ...extra };
}

test("a turn with a server's tool, and one that does not come up costs a line", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ call: "mcp__odd__again", input: {} }], [{ text: "Done." }]]);
  const config = configured(world, { odd: oddServer(world), gone: { command: "no-such-program-here" } });
  const args = ["run", "go", "--yes", "--json", "--mcp-config", config, ...world.place(server)];
  const { code, stdout, stderr } = await world.pawl(args);
  assert.equal(code, 0);
  assert.match(stderr, /^pawl: MCP server gone is not used: "no-such-program-here" was not found: [^\n]*\n$/);
  const entered = eventsOf(stdout).find(({ type }) => type === "tool.entered");
  assert.equal(entered?.["effect"], "write");
  assert.equal(readFileSync(join(world.root, "effects"), "utf8"), "appended\n");
  assert.throws(() => process.kill(Number(readFileSync(join(world.root, "starts"), "utf8")), 0), /ESRCH/);
});

test("killed in the middle of a server's write: the one who resumes is told that the outcome is unknown, nothing runs twice", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ call: "mcp__odd__append", input: {} }], [{ text: "I looked." }]]);
  const config = configured(world, { odd: oddServer(world) });
  const place = ["--yes", "--json", "--mcp-config", config, ...world.place(server)];
  const running = world.start(["run", "go", "--session", "s", ...place]);
  await appears(world.root, "effects", running.ended);
  await killed(running.process);
  const { code, stdout } = await world.pawl(["resume", "s", ...place]);
  assert.equal(code, 0);
  const settled = eventsOf(stdout).find(({ type }) => type === "tool.settled");
  assert.equal((settled?.["output"] as { code: string } | undefined)?.code, "TOOL_OUTCOME_UNKNOWN");
  assert.equal(lastLine(stdout).text, "I looked.");
  assert.equal(readFileSync(join(world.root, "effects"), "utf8"), "appended\n");
  assert.equal((await world.verified("s")).code, 0);
});

test("a file that is no configuration says what is wrong in it", async (t) => {
  const world = new World(t);
  const refused: [string, RegExp][] = [
    ["{", /mcp\.json:1:2: a \} is missing here/],
    ["{}", /has no "mcpServers": write/],
    ['{"mcpServers":{"a b":{"command":"x"}}}', /mcpServers\.a b: a name has letters/],
    ['{"mcpServers":{"a":{"type":"stdio"}}}', /mcpServers\.a: a server has a "command" \(a program\) or a "url"/],
    ['{"mcpServers":{"a":{"command":"x","arg":[]}}}', /mcpServers\.a: Unrecognized key: "arg"/],
    ['{"mcpServers":{"a":{"url":"ftp://x"}}}', /mcpServers\.a\.url: Invalid URL/],
  ];
  for (const [text, words] of refused) {
    const path = join(world.root, "mcp.json");
    writeFileSync(path, text);
    const { code, stderr } = await world.pawl([
      "run",
      "go",
      "--model",
      "openai-chat:x",
      "--base-url",
      "http://127.0.0.1:1/v1",
      "--mcp-config",
      path,
    ]);
    assert.equal(code, 2, text);
    assert.match(stderr, words);
  }
});
