/** A real worker's own figures, and a trace for the turn that it drove. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSession, createWorker, openSession, type WorkerEvent } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { observeWorker } from "../src/index.ts";
import { collector } from "./collector.ts";

test("a worker's claims, turns, ends of claims and outages are counted, and its turns are traced", {
  timeout: 20_000,
}, async () => {
  const { ids, tracer, meter, spans, figures, close } = collector();
  const runtime = memoryRuntime();
  const session = await createSession(runtime, "s");
  await session.post("input", "hello");
  const over = Promise.withResolvers<void>();
  const listen = observeWorker({ ids, tracer, meter, open: (id) => openSession(runtime, id) });
  const on = (event: WorkerEvent) => {
    listen(event);
    if (event.type === "released") over.resolve();
  };
  const worker = createWorker({ runtime, agent: () => ({ model: scriptedModel([[...say("hi"), finish()]]) }), on });
  await over.promise;
  await worker.drain();
  listen({ type: "store-away", error: new Error("gone") });
  listen({ type: "store-back" });
  const seen = await figures();
  const sums = [...seen].flatMap(([key, { sum }]) => (key.startsWith("pawl.worker") ? `${key} ${sum}` : []));
  assert.deepEqual(sums.sort(), [
    'pawl.worker.claims [["pawl.worker.takeover",false]] 1',
    "pawl.worker.driving [] 0",
    'pawl.worker.releases [["pawl.worker.release","released"]] 1',
    "pawl.worker.store_outages [] 1",
    'pawl.worker.turns [["pawl.turn.outcome","completed"]] 1',
  ]);
  assert.equal(seen.get('pawl.turns [["pawl.turn.outcome","completed"]]')?.sum, 1);
  assert.deepEqual(
    spans()
      .map(({ name }) => name)
      .sort(),
    ["chat scripted", "invoke_agent"],
  );
  await close();
});

test("a meter that throws reaches nobody", () => {
  const broken = new Proxy(
    {},
    {
      get: () => () => {
        throw new Error("no meter");
      },
    },
  );
  const said: string[] = [];
  const listen = observeWorker({ meter: broken as never, warn: (text) => said.push(text) });
  listen({ type: "released", session: "s" });
  listen({ type: "store-away", error: new Error("gone") });
  assert.equal(said.length, 1);
});
