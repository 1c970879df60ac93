import assert from "node:assert/strict";
import { createSession, createWorker, defineTool, workspaceWait } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";

const runtime = memoryRuntime();
// A session says what it needs; forks and tasks of it need the same.
const session = await createSession(runtime, "mend", { workspace: "disk-7" });
await session.post("input", "Mend the roof");

// A tool whose effects stay on a machine says where they are. The entry of each call records it, with the host.
const build = defineTool({
  inputSchema: { type: "object" },
  site: ({ idempotencyKey }) => ({ id: "volume 4f1c", where: `/srv/disk-7/builds/${idempotencyKey}` }),
  execute: () => "built",
});
const agent = () => ({
  model: scriptedModel([
    [...call("build", {}), finish("tool-calls")],
    [...say("Mended."), finish()],
  ]),
  tools: { build },
});

// A worker says what it has. This one has something else, and leaves the session to others.
const elsewhere = createWorker({ runtime, agent, workspaces: ["disk-1", "disk-2"] });
await elsewhere.drain();
const summary = await session.summary();
console.log(summary && workspaceWait(summary)); // { workspace: 'disk-7', since: ... }

const here = createWorker({ runtime, agent, workspaces: ["disk-7"] });
for await (const { event } of session.follow({ signal: new AbortController().signal })) {
  if (event.type === "tool.entered") console.log(event.site); // { host, boot, id, where }
  if (event.type === "turn.ended") break;
}
await here.drain();
assert.equal((await session.summary())?.head.outcome, "completed");
