import assert from "node:assert/strict";
import { test } from "node:test";
import { hastyTimers, ServerWorld } from "./mcp-world.ts";
import { gone, isAlive } from "./supervisor-world.ts";

/** As a configuration writes it. */
function variable(name: string): string {
  return `$\{${name}}`;
}

/** Resolves with the first word of progress. */
function firstProgress(): { progress(data: unknown): void; begun: Promise<unknown> } {
  const { promise: begun, resolve: progress } = Promise.withResolvers<unknown>();
  return { progress, begun };
}

test("a server killed with SIGKILL in the middle of a write: one effect, an unknown outcome that warns, and it comes back", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ odd: world.odd("good") });
  const { progress, begun } = firstProgress();
  const call = world.call("mcp__odd__append", {}, { progress });
  assert.deepEqual(await begun, { output: "1/2 begun", progress: 1, total: 2 });
  const first = world.pid;
  process.kill(first, "SIGKILL");
  const { text, isError } = await call;
  assert.equal(isError, true);
  assert.match(
    text,
    /^TOOL_OUTCOME_UNKNOWN: the MCP server odd gave no answer: it ended before it answered; SIGKILL ended it\./,
  );
  assert.match(text, /Do not simply repeat it/);
  assert.deepEqual(world.lines("effects"), ["appended"]);
  const after = await world.call("mcp__odd__again");
  assert.deepEqual([after.text, after.isError], ["appended", false]);
  assert.notEqual(world.pid, first);
  assert.deepEqual(world.lines("effects"), ["appended", "appended"]);
  assert.deepEqual(world.warnings, []);
});

test("killed between two calls, it is started again for the next one, which is sent once", async (t) => {
  const world = new ServerWorld(t);
  const servers = await world.connect({ odd: world.odd("good") });
  process.kill(world.pid, "SIGKILL");
  while (servers.status()[0]?.state !== "lost") await new Promise((resolve) => setImmediate(resolve));
  assert.match(servers.status()[0]?.trouble ?? "", /SIGKILL ended it/);
  assert.equal((await world.call("mcp__odd__again")).text, "appended");
  assert.deepEqual([world.lines("starts").length, world.lines("effects").length], [2, 1]);
  assert.equal(servers.status()[0]?.state, "connected");
});

test("hints count for a trusted server only, and a contradiction for the worse", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ known: { ...world.odd("good"), trusted: true }, other: world.odd("good") });
  const effects = async (server: string) =>
    Promise.all(
      ["append", "again", "look", "both", "env"].map(
        async (name) => (await world.tool(`mcp__${server}__${name}`)).effect,
      ),
    );
  assert.deepEqual(await effects("known"), ["write", "idempotent", "read", "write", "write"]);
  assert.deepEqual(await effects("other"), ["write", "write", "write", "write", "write"]);
});

test("what a killed server was asked is worded by the effect of the tool", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ odd: { ...world.odd("good"), trusted: true } });
  const { progress, begun } = firstProgress();
  const call = world.call("mcp__odd__deaf", {}, { progress });
  await begun;
  process.kill(world.pid, "SIGKILL");
  assert.match(
    (await call).text,
    /^the MCP server odd gave no answer: .* This tool only looks: the call may be made again\.$/,
  );
});

test("names are fit for every provider", async (t) => {
  const world = new ServerWorld(t);
  const { tools } = await world.connect({ odd: world.odd("good") });
  const names = Object.keys(await tools());
  assert.ok(names.includes("mcp__odd__with_space_and_slash"));
  for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  const long = names.find((name) => name.startsWith("mcp__odd__xxx")) ?? "";
  assert.match((await world.call(long)).text, /^x{100} of /);
});

test("a changed list of tools counts from the next time they are asked for", async (t) => {
  const world = new ServerWorld(t);
  const servers = await world.connect({ odd: world.odd("good") });
  const before = await servers.tools();
  await world.call("mcp__odd__grow");
  const after = await servers.tools();
  assert.deepEqual(
    Object.keys(after).filter((name) => !(name in before)),
    ["mcp__odd__grown10"],
  );
  assert.equal("mcp__odd__grown10" in before, false);
});

test("each server that does not come up costs one warning, and the others work", async (t) => {
  const world = new ServerWorld(t);
  const missing = { command: "no-such-program-here" };
  const servers = await world.connect(
    {
      missing,
      exits: world.odd("exit"),
      nowhere: { ...world.odd("good"), cwd: "not/there" },
      variable: { ...world.odd("good"), env: { KEY: variable("NO_SUCH_KEY") } },
      off: { ...missing, enabled: false },
      good: world.odd("good"),
    },
    { env: { PATH: process.env["PATH"] } },
  );
  const warning = (name: string) => world.warnings.filter((each) => each.includes(name));
  assert.match(
    warning("MCP server missing").join("|"),
    /^MCP server missing is not used: "no-such-program-here" was not found: install it[^|]*$/,
  );
  assert.match(
    warning("MCP server exits").join("|"),
    /^[^|]*exited with code 3\. Its last words: no licence found[^|]*$/,
  );
  assert.match(warning("MCP server nowhere").join("|"), /^[^|]*its folder .*not\/there does not exist[^|]*$/);
  assert.match(
    warning('MCP server "variable"').join("|"),
    /^[^|]*env\.KEY needs the environment variable NO_SUCH_KEY[^|]*$/,
  );
  assert.equal(world.warnings.length, 4);
  assert.deepEqual(
    servers.status().map(({ name, state }) => [name, state]),
    [
      ["missing", "failed"],
      ["exits", "failed"],
      ["nowhere", "failed"],
      ["variable", "failed"],
      ["off", "off"],
      ["good", "connected"],
    ],
  );
  assert.equal((await world.call("mcp__good__again")).text, "appended");
});

test("a server that says nothing at the start is given up and ended", async (t) => {
  const world = new ServerWorld(t);
  const servers = await world.connect({ deaf: world.odd("deaf") }, { timers: hastyTimers(60_000) });
  assert.match(
    world.warnings.join("|"),
    /^MCP server deaf is not used: it gave no answer to the first word within 30 s[^|]*$/,
  );
  assert.deepEqual(servers.status()[0]?.state, "failed");
  for (const pid of world.lines("starts")) await gone(Number(pid));
});

test("an abort ends the connecting", async (t) => {
  const world = new ServerWorld(t);
  const controller = new AbortController();
  const connecting = world.connect({ deaf: world.odd("deaf") }, { signal: controller.signal });
  controller.abort(new Error("stopped on request"));
  await connecting;
  assert.match(world.warnings.join("|"), /^MCP server deaf is not used: [^|]*stopped on request[^|]*$/);
  for (const pid of world.lines("starts")) await gone(Number(pid));
});

test("garbage on standard output is said once, a flood on standard error is not kept, odd tools are left out", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ garbage: world.odd("garbage"), flood: world.odd("flood"), odd: world.odd("odd-tools") });
  assert.equal((await world.call("mcp__garbage__again")).text, "appended");
  assert.equal((await world.call("mcp__flood__again")).text, "appended");
  assert.equal((await world.call("mcp__odd__again")).text, "appended");
  assert.deepEqual(world.warnings.map((text) => text.slice(0, 40)).sort(), [
    "MCP server garbage writes to its standar",
    'MCP server odd: tools left out: "no sche',
  ]);
  assert.match(world.warnings.join("\n"), /"Server ready!"/);
  assert.match(world.warnings.join("\n"), /and 1 more/);
});

test("odd content is shown as it is, and an error stays one", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ odd: world.odd("good") });
  const { content, isError } = await world.call("mcp__odd__odd");
  assert.equal(isError, true);
  assert.deepEqual(content, [
    { type: "data", data: { type: "hologram", depth: 3 } },
    { type: "text", text: "[image, image/png: its 11 characters are not base64, not shown]" },
    { type: "data", data: 7 },
    { type: "data", data: { answer: 42 } },
  ]);
});

test("an abort is told to the server, and the call ends at once", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ odd: world.odd("good") });
  const controller = new AbortController();
  const { progress, begun } = firstProgress();
  const call = world.call("mcp__odd__deaf", {}, { signal: controller.signal, progress });
  await begun;
  controller.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await world.call("mcp__odd__again");
  assert.deepEqual(world.lines("effects"), ["cancelled Error: enough", "appended"]);
});

test("its environment is small: no keys of ours, what is configured, variables filled in", async (t) => {
  const world = new ServerWorld(t);
  const env = { PATH: process.env["PATH"], HOME: "/home/x", OPENAI_API_KEY: "secret", MINE: "value", LC_ALL: "C" };
  await world.connect(
    { odd: { ...world.odd("good"), env: { TOKEN: `t-${variable("MINE")}`, OTHER: variable("NONE:-fallback") } } },
    { env },
  );
  const seen = JSON.parse((await world.call("mcp__odd__env")).text) as Record<string, string>;
  assert.deepEqual(
    { ...seen, PATH: "" },
    { PATH: "", HOME: "/home/x", LC_ALL: "C", TOKEN: "t-value", OTHER: "fallback" },
  );
});

test("closing ends a server that does not listen, too", async (t) => {
  const world = new ServerWorld(t);
  const servers = await world.connect({ stubborn: world.odd("stubborn") });
  const { pid } = world;
  assert.ok(isAlive(pid));
  await servers.close();
  assert.equal(isAlive(pid), false);
});
