/** The tools that speak to a person: the list of steps, a question, a picture. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { createSession } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { workspaceTools } from "../src/tools/workspace-tools.ts";
import { World } from "./pawl-world.ts";
import { Folder } from "./tools-call.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("the list of steps is shown whole; two steps at once are refused", async (t) => {
  const folder = new Folder(t);
  const items = [
    { text: "look", status: "done" },
    { text: "change\nit", status: "in_progress" },
    { text: "test", status: "pending" },
  ];
  assert.equal(await folder.call("todo", { items }), "[x] look\n[>] change␊it\n[ ] test\n1 of 3 done");
  assert.equal(await folder.call("todo", { items: [] }), "The list is empty.");
  const two = items.map((item) => ({ ...item, status: "in_progress" }));
  await assert.rejects(folder.call("todo", { items: two }), /3 steps are in_progress .*at most one is/);
});

test("a question waits for its answer, and one is asked at a time", async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const asked: unknown[] = [];
  const folder = new Folder(
    t,
    {},
    {
      asker: (question) => {
        asked.push(question);
        return promise;
      },
    },
  );
  const told: unknown[] = [];
  const input = { question: "Tabs or spaces?", choices: ["tabs", "spaces"] };
  const answer = folder.result("ask", input, { key: "c1", progress: (data) => told.push(data) });
  assert.deepEqual(told, [{ asks: "Tabs or spaces?" }]);
  assert.deepEqual(asked, [{ call: "c1", ...input }]);
  resolve("both");
  assert.deepEqual(await answer, { text: "both", isError: false });
  assert.deepEqual(await folder.locks("ask", input), [{ key: "ask", mode: "write" }]);
});

test("where nobody can be asked, or no answer comes, it says so and what to do", async (t) => {
  const nobody = await new Folder(t).result("ask", { question: "Which?" });
  assert.equal(nobody.isError, true);
  assert.match(nobody.text, /^Nobody can be asked here\. Decide yourself/);
  const silent = await new Folder(t, {}, { asker: async () => undefined }).result("ask", { question: "Which?" });
  assert.match(silent.text, /^No answer was given\./);
});

test("a stop ends the question", async (t) => {
  const controller = new AbortController();
  const asker = (_: unknown, signal: AbortSignal) =>
    new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  const call = new Folder(t, {}, { asker }).call("ask", { question: "Which?" }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
});

test("a turn that is stopped while it waits ends, with a result for the question", async (t) => {
  const { root } = new Folder(t);
  const runtime = memoryRuntime();
  const controller = new AbortController();
  const asker = (_: unknown, signal: AbortSignal) => {
    controller.abort();
    return new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  };
  const model = scriptedModel([[...call("ask", { question: "Which?" }), finish("tool-calls")]]);
  const session = await createSession(runtime);
  const turn = session.run({ model, tools: workspaceTools({ cwd: root, asker }) }, "go", { signal: controller.signal });
  assert.equal((await turn.result).outcome.type, "aborted");
  const settled = (await session.entries()).flatMap(({ event }) =>
    event.type === "tool.settled" ? [event.output.code] : [],
  );
  assert.deepEqual(settled, ["TOOL_ABORTED"]);
});

test("a picture is shown where the model takes pictures, whatever its name; else it is named", async (t) => {
  const files = {
    "a.png": png,
    "b.txt": png,
    "c.png": "no picture\n",
    "huge.png": Buffer.concat([png, Buffer.alloc(5_000_000)]),
  };
  const folder = new Folder(t, files, { images: "send" });
  for (const path of ["a.png", "b.txt"]) {
    const tool = folder.tool("read");
    const { content } = (await tool.execute({ path }, { signal: new AbortController().signal })) as {
      content: unknown[];
    };
    assert.deepEqual(content, [
      { type: "text", text: `${path}: PNG image, 70 B` },
      { type: "file", mediaType: "image/png", filename: path, url: `data:image/png;base64,${png.toString("base64")}` },
    ]);
  }
  assert.equal(await folder.call("read", { path: "c.png" }), "1\tno picture");
  assert.match(
    await folder.call("read", { path: "huge.png" }),
    /^huge\.png: PNG image, 5\.0 MB\. Pictures are shown up to 3\.9 MB\. Not text/,
  );
  const named = await new Folder(t, files).call("read", { path: "a.png" });
  assert.match(named, /^a\.png: PNG image, 70 B\. Not text/);
});

test("the model is sent the picture that it read", async (t) => {
  const folder = new Folder(t, { "a.png": png });
  const runtime = memoryRuntime();
  const model = scriptedModel([
    [...call("read", { path: "a.png" }), finish("tool-calls")],
    [...say("A dot."), finish()],
  ]);
  const session = await createSession(runtime);
  const tools = workspaceTools({ cwd: folder.root, images: "send" });
  const { outcome } = await session.run({ model, tools, images: "send" }, "look").result;
  assert.equal(outcome.type, "completed");
  const last = model.requests.at(-1);
  assert.match(
    JSON.stringify(last, (_, value) => (value instanceof Uint8Array ? `bytes ${value.length}` : value)),
    /bytes 70/,
  );
});

const skip = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";

test("asked at a terminal: the choices are numbered, and a number is an answer", { skip }, async (t) => {
  const world = new World(t);
  const input = { question: "Tabs or spaces?", choices: ["tabs", "spaces"] };
  const server = await world.server([[{ call: "ask", input }], [{ text: "Fine." }]]);
  const { code, stdout } = await world.inTerminal("2\n", ["run", "Go", "--session", "s", ...world.place(server)]);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /→ ask Tabs or spaces\?\n\n\? Tabs or spaces\?\n {2}1\. tabs\n {2}2\. spaces\n {2}Your answer: /,
  );
  assert.match(server.requests[1]?.body ?? "", /"content":"spaces"/);
});
