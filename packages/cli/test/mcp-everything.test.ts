/** The official example server, over both of its transports. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { createSession } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { everything, hastyTimers, ServerWorld } from "./mcp-world.ts";
import { Running } from "./pawl-world.ts";

async function overHttp(t: TestContext, port = 0): Promise<{ url: string; port: number; child: ChildProcess }> {
  const preload = new URL("./mcp-loopback.ts", import.meta.url).href;
  const child = spawn(process.execPath, [`--import=${preload}`, everything, "streamableHttp"], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  const running = new Running(child);
  await running.said(/listens on \d+/);
  const chosen = Number(/listens on (\d+)/.exec(running.stderr)?.[1]);
  return { url: `http://127.0.0.1:${chosen}/mcp`, port: chosen, child };
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

const stdio = { command: process.execPath, args: [everything, "stdio"], trusted: true };

test("the official example server: text, picture, resource, structured content, progress, an error", async (t) => {
  const world = new ServerWorld(t);
  await world.connect({ all: stdio });
  assert.deepEqual((await world.call("mcp__all__echo", { message: "hello" })).content, [
    { type: "text", text: "Echo: hello" },
  ]);
  const picture = await world.call("mcp__all__get-tiny-image");
  assert.match(
    JSON.stringify(picture.content[1]),
    /^\{"type":"file","mediaType":"image\/png","url":"data:image\/png;base64,/,
  );
  const resource = await world.call("mcp__all__get-resource-reference", { resourceType: "Text", resourceId: 1 });
  assert.match(resource.text, /\[resource demo:\/\/resource\/dynamic\/text\/1 \(text\/plain\)\]\nResource 1/);
  const links = await world.call("mcp__all__get-resource-links", { count: 2 });
  assert.match(links.text, /\[link to a resource: demo:/);
  const weather = await world.call("mcp__all__get-structured-content", { location: "New York" });
  assert.equal(weather.content.length, 1, "the same as text and as a value is told once");
  const told: unknown[] = [];
  const long = { duration: 0.05, steps: 2 };
  const progress = (data: unknown) => void told.push(data);
  assert.match((await world.call("mcp__all__trigger-long-running-operation", long, { progress })).text, /completed/);
  assert.deepEqual(told[0], { output: "1/2", progress: 1, total: 2 });
  const wrong = await world.call("mcp__all__get-sum", { a: "one", b: 2 });
  assert.equal(wrong.isError, true);
  assert.deepEqual(world.warnings, []);
});

test("a whole turn with it: pictures are kept beside the log, the cap of the runtime holds", async (t) => {
  const world = new ServerWorld(t);
  const { tools } = await world.connect({ all: stdio });
  const runtime = memoryRuntime();
  const model = scriptedModel([
    [
      ...call("mcp__all__get-tiny-image", {}),
      ...call("mcp__all__echo", { message: "x".repeat(200_000) }),
      ...call("mcp__all__get-sum", { a: 1 }),
      finish("tool-calls"),
    ],
    [...say("done"), finish()],
  ]);
  const session = await createSession(runtime);
  const { outcome } = await session.run({ model, tools: await tools() }, "look").result;
  assert.equal(outcome.type, "completed");
  const settled = (await session.entries()).flatMap(({ event }) =>
    event.type === "tool.settled" ? [event.output] : [],
  );
  const [picture, echo, sum] = [...settled].sort((a, b) => b.content.length - a.content.length);
  assert.match(JSON.stringify(picture), /"mediaType":"image\/png","filename":"[^"]+","blob":"[0-9a-f]{64}"/);
  assert.ok(JSON.stringify(echo).length < 70_000);
  assert.match(JSON.stringify(echo), /characters left out/);
  assert.match(JSON.stringify(sum), /TOOL_INPUT_INVALID/, "checked against its own schema, before it is asked");
  await runtime.store.close();
});

test("over streamable HTTP, and again after the server was killed and came back: the session is begun anew", async (t) => {
  const world = new ServerWorld(t);
  const first = await overHttp(t);
  await world.connect({ all: { url: first.url } });
  assert.equal((await world.call("mcp__all__echo", { message: "one" })).text, "Echo: one");
  await killed(first.child);
  await overHttp(t, first.port);
  const again = await world.call("mcp__all__echo", { message: "two" });
  assert.deepEqual([again.text, again.isError], ["Echo: two", false]);
});

test("over streamable HTTP, killed in the middle of a call: the outcome is unknown; then nobody is there: not sent", async (t) => {
  const world = new ServerWorld(t);
  const { url, child } = await overHttp(t);
  await world.connect({ all: { url } }, { timers: hastyTimers(10_000) });
  const { promise: begun, resolve: progress } = Promise.withResolvers<unknown>();
  const long = world.call("mcp__all__trigger-long-running-operation", { duration: 600, steps: 60_000 }, { progress });
  await begun;
  await killed(child);
  const { text, isError } = await long;
  assert.equal(isError, true);
  assert.match(
    text,
    /^TOOL_OUTCOME_UNKNOWN: the MCP server all gave no answer: the connection ended before the answer\./,
  );
  const after = await world.call("mcp__all__echo", { message: "two" });
  assert.match(
    after.text,
    /^The MCP server all cannot be reached: .*ECONNREFUSED.*\. The call was not sent, so it had no effect\.$/,
  );
});
