/** What an operator sees of a turn: retries, waits for people, crashes, clocks that are set. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SpanKind, type Tracer } from "@opentelemetry/api";
import { type Agent, defineTool, forkSession, type LiveItem, openSession, type Session } from "@pawl/core";
import { call, faultyStore, finish, type ScriptEntry, say } from "@pawl/core/testing";
import { agentOf, deferred, TurnWorld } from "../../core/test/turn-world.ts";
import { type ObserveOptions, observe, record } from "../src/index.ts";
import { collector, type Seen } from "./collector.ts";

const reset = { fail: Object.assign(new Error("reset at SECRET"), { code: "ECONNRESET" }) };
const done: ScriptEntry = [...say("all SECRET done"), finish()];
const acts: ScriptEntry = [...call("act", { word: "SECRET" }, "c1"), finish("tool-calls")];
const inputSchema = { type: "object" as const };

function acting(execute: () => unknown, rest: { effect?: "read" | "idempotent" } = {}): NonNullable<Agent["tools"]> {
  return { act: defineTool<unknown>({ inputSchema, execute: async () => String(await execute()), ...rest }) };
}

/** Watches one drive to its end. */
async function watch(
  world: TurnWorld,
  session: Session,
  agent: Agent,
  to: Partial<ObserveOptions>,
  how: "run" | "resume" | "continue" = "run",
) {
  const turn = how === "run" ? session.run(agent, "go SECRET") : session[how](agent);
  const told = observe(turn, { session: await world.open(session.id), ...to });
  const result = await world.effects.run(turn.result).catch(() => undefined);
  await told;
  return result;
}

function named(spans: readonly Seen[], name: string): Seen[] {
  return spans.filter((span) => span.name === name);
}

test("a turn is one invoke_agent span; its requests and calls are its children, with the conventions' names", async () => {
  const world = new TurnWorld();
  const seen = collector();
  const agent = agentOf([acts, done], { tools: acting(() => world.effects.advance(40)) });
  await watch(world, await world.session(), agent, { ...seen, agent: "helper" });
  const [turn, ...others] = named(seen.spans(), "invoke_agent helper");
  assert.ok(turn && others.length === 0 && !turn.failed);
  assert.equal(turn.attributes["gen_ai.conversation.id"], "s");
  assert.equal(turn.attributes["gen_ai.usage.input_tokens"], 20);
  assert.equal(turn.attributes["pawl.turn.outcome"], "completed");
  const chats = named(seen.spans(), "chat scripted");
  assert.deepEqual(
    chats.map(({ attributes }) => attributes["gen_ai.response.finish_reasons"]),
    [["tool-calls"], ["stop"]],
  );
  for (const { attributes } of chats) {
    assert.equal(attributes["gen_ai.operation.name"], "chat");
    assert.equal(attributes["gen_ai.provider.name"], "test");
    assert.equal(attributes["gen_ai.request.model"], "scripted");
    assert.equal(attributes["gen_ai.response.model"], "scripted");
    assert.equal(attributes["gen_ai.usage.output_tokens"], 5);
  }
  const [tool] = named(seen.spans(), "execute_tool act");
  assert.equal((tool?.end ?? 0) - (tool?.start ?? 0), 40);
  assert.equal(tool?.attributes["gen_ai.tool.name"], "act");
  assert.ok(seen.spans().every(({ parent, id }) => parent === turn.id || id === turn.id));
});

test("each physical request is a span and a count of its own, with its failure, its decision and its wait", async () => {
  const world = new TurnWorld();
  const seen = collector();
  await watch(world, await world.session(), agentOf([[...say("al"), reset], done]), seen);
  const [first, second] = named(seen.spans(), "chat scripted");
  assert.equal(first?.attributes["error.type"], "stream-broken");
  assert.equal(first?.attributes["pawl.attempt.end"], "discarded");
  assert.equal(first?.attributes["pawl.decision.action"], "discard");
  assert.ok(first.failed && second && !second.failed);
  assert.ok(second.start - first.end >= Number(first.attributes["pawl.decision.delay_ms"]), "the wait lies between");
  assert.equal(named(seen.spans(), "invoke_agent")[0]?.failed, false);
  const figures = [...(await seen.figures())];
  const retries = figures.filter(([key]) => key.startsWith("pawl.retries"));
  assert.deepEqual(
    retries.map(([key, { sum }]) => [key.includes("stream-broken"), sum]),
    [[true, 1]],
  );
  assert.equal(figures.filter(([key]) => key.startsWith("pawl.attempts")).length, 2);
  assert.ok(figures.some(([key]) => key.startsWith("pawl.wait.duration")));
  await seen.close();
});

test("waiting for a person is a span of its own, not the tool's time", async () => {
  const world = new TurnWorld();
  const seen = collector();
  const answer = deferred<{ answer: "allow"; by: string }>();
  const asked = deferred();
  const agent = agentOf([acts, done], {
    tools: acting(() => world.effects.advance(5)),
    permission: () => "ask",
    approver: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const session = await world.session();
  const turn = session.run(agent, "go");
  const told = observe(turn, { ...seen, session });
  await asked.promise;
  // In steps that a lease survives: it is renewed every five seconds.
  for (let step = 0; step < 150; step += 1) {
    await world.effects.settle();
    world.effects.advance(4_000);
  }
  answer.resolve({ answer: "allow", by: "ann" });
  await world.effects.run(turn.result);
  await told;
  const [question] = named(seen.spans(), "pawl.approval act");
  const [tool] = named(seen.spans(), "execute_tool act");
  assert.equal((question?.end ?? 0) - (question?.start ?? 0), 600_000);
  assert.equal((tool?.end ?? 0) - (tool?.start ?? 0), 5);
  assert.equal(tool?.attributes["pawl.approval.wait_ms"], 600_000);
  const [whole] = named(seen.spans(), "invoke_agent");
  assert.ok(Number(whole?.attributes["pawl.turn.elapsed_ms"]) < 600_000, "people are no elapsed time");
});

/** A process that dies inside a tool, an hour in which nobody is there, and a second process that goes on. */
async function crashed(effect: "read" | undefined, how: "run" | "resume" = "resume") {
  const world = new TurnWorld();
  await world.session();
  const [first, second] = [collector(), collector()];
  // Appends: the start, {attempt's end, message, entered}, the result.
  const process = world.process(faultyStore(world.store, { append: 3, where: "before", lasts: "for-good" }));
  const body = () => world.effects.advance(40);
  const tools = acting(body, effect ? { effect } : {});
  await watch(world, await openSession(process, "s"), agentOf([acts], { tools }), first);
  process.die();
  world.effects.advance(3_600_000);
  await watch(world, await world.open(), agentOf([done], { tools }), second, how);
  return { world, first, second };
}

test("a turn that a crash cut and another process took over is one whole trace, told by whoever ends it", async () => {
  const { first, second } = await crashed(undefined);
  assert.deepEqual(first.spans(), []);
  const [turn] = named(second.spans(), "invoke_agent");
  assert.equal(turn?.attributes["pawl.turn.drives"], 2);
  assert.deepEqual(
    turn?.events.map(({ name }) => name),
    ["pawl.takeover"],
  );
  assert.equal(named(second.spans(), "chat scripted").length, 2, "the first process's request is there");
  const [tool] = named(second.spans(), "execute_tool act");
  assert.equal(tool?.attributes["pawl.tool.settled_by"], "recovery");
  assert.equal(tool?.attributes["error.type"], "TOOL_OUTCOME_UNKNOWN");
  assert.ok((tool?.end ?? 0) - (tool?.start ?? 0) < 3_600_000, "the hour without a driver is not the tool's");
});

test("a new input closes the turn that a dead process left: both turns are told, the first as interrupted", async () => {
  const { second } = await crashed(undefined, "run");
  assert.deepEqual(
    named(second.spans(), "invoke_agent").map(({ attributes }) => [
      attributes["pawl.turn.outcome"],
      attributes["error.type"],
    ]),
    [
      ["interrupted", "interrupted"],
      ["completed", undefined],
    ],
  );
  assert.equal(named(second.spans(), "execute_tool act").length, 1);
});

test("figures are counted once: what the first process counted is not counted by the second", async () => {
  const { first, second } = await crashed(undefined);
  const requests = async (of: typeof first) =>
    [...(await of.figures())].filter(([key]) => key.startsWith("pawl.attempts")).map(([, { sum }]) => sum);
  assert.deepEqual(await requests(first), [1]);
  assert.deepEqual(await requests(second), [1]);
  assert.ok([...(await second.figures()).keys()].some((key) => key.startsWith("pawl.takeovers")));
});

test("a body that runs again after a crash is two spans, the first of them interrupted", async () => {
  const { second } = await crashed("read");
  const bodies = named(second.spans(), "execute_tool act").sort((a, b) => a.start - b.start);
  assert.deepEqual(
    bodies.map(({ attributes }) => [
      attributes["error.type"],
      attributes["pawl.tool.settled_by"],
      attributes["pawl.tool.entry"],
    ]),
    [
      ["interrupted", undefined, 1],
      [undefined, "rerun", 2],
    ],
  );
});

test("a turn told twice has the same ids; a turn that continues another is linked to it, whoever told that one", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  const [first, second, third] = [collector(), collector(), collector()];
  await watch(world, session, agentOf([{ reject: Object.assign(new Error("no"), { statusCode: 401 }) }]), first);
  await watch(world, session, agentOf([done]), second, "continue");
  const [failed] = named(first.spans(), "invoke_agent");
  const [next] = named(second.spans(), "invoke_agent");
  assert.equal(failed?.attributes["error.type"], "auth");
  assert.ok(failed.failed);
  assert.deepEqual(next?.links, [`${failed.trace}/${failed.id}`]);
  record(await session.entries(), third);
  assert.deepEqual(third.spans(), [...first.spans(), ...second.spans()]);
});

test("without `ids` the same observer still links a turn to the one it continues, and the tracer makes the ids", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  await watch(world, session, agentOf([{ reject: Object.assign(new Error("no"), { statusCode: 401 }) }]), {});
  await watch(world, session, agentOf([done]), {}, "continue");
  const { tracer, spans } = collector();
  record(await session.entries(), { tracer });
  const [failed, next] = named(spans(), "invoke_agent");
  assert.notEqual(failed?.trace, next?.trace);
  assert.deepEqual(next?.links, [`${failed?.trace}/${failed?.id}`]);
});

test("what was said is on no span; with `content: record` it is", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  const agent = agentOf([[...say("al SECRET"), reset], acts, done], { tools: acting(() => "SECRET result") });
  const [quiet, loud] = [collector(), collector()];
  await watch(world, session, agent, quiet);
  assert.doesNotMatch(JSON.stringify(quiet.spans()), /SECRET/);
  record(await session.entries(), { ...loud, content: "record" });
  const [turn] = named(loud.spans(), "invoke_agent");
  assert.match(String(turn?.attributes["gen_ai.input.messages"]), /go SECRET/);
  const [failed, , last] = named(loud.spans(), "chat scripted");
  assert.match(String(failed?.message), /reset at SECRET/);
  assert.match(String(last?.attributes["gen_ai.output.messages"]), /all SECRET done/);
  const [tool] = named(loud.spans(), "execute_tool act");
  assert.match(String(tool?.attributes["gen_ai.tool.call.arguments"]), /SECRET/);
  assert.match(String(tool?.attributes["gen_ai.tool.call.result"]), /SECRET result/);
});

test("a clock that is set back in a request leaves its duration, and everything in order", async () => {
  const world = new TurnWorld();
  const seen = collector();
  const tools = acting(() => {
    world.effects.advance(2_000);
    world.effects.time -= 3_600_000;
  });
  await watch(world, await world.session(), agentOf([acts, done], { tools }), seen);
  const [tool] = named(seen.spans(), "execute_tool act");
  const [, last] = named(seen.spans(), "chat scripted");
  const [turn] = named(seen.spans(), "invoke_agent");
  assert.equal((tool?.end ?? 0) - (tool?.start ?? 0), 2_000);
  assert.ok(last && tool && turn && last.start >= tool.end && turn.end >= last.end);
  assert.ok(turn.end - turn.start < 10_000);
});

test("a tracer and a meter that throw disturb no turn, and are spoken of once", async () => {
  const world = new TurnWorld();
  const warned: string[] = [];
  const broken = new Proxy({}, { get: () => () => assert.fail("the exporter is down") }) as unknown as Tracer;
  const result = await watch(world, await world.session(), agentOf([[...say("a"), reset], done]), {
    tracer: broken,
    meter: broken as never,
    warn: (text) => {
      warned.push(text);
      throw new Error("and nobody listens");
    },
  });
  assert.equal(result?.outcome.type, "completed");
  assert.equal(warned.length, 1);
  assert.match(warned[0] ?? "", /the session goes on/);
});

test("a child that throws does not take its siblings or its turn along", async () => {
  const world = new TurnWorld();
  const seen = collector();
  const startSpan: Tracer["startSpan"] = (name, options, within) =>
    name.startsWith("chat") ? assert.fail("no chats") : seen.tracer.startSpan(name, options, within);
  const tracer = new Proxy(seen.tracer, {
    get: (target, name) => (name === "startSpan" ? startSpan : Reflect.get(target, name)),
  });
  const agent = agentOf([acts, done], { tools: acting(() => "x") });
  await watch(world, await world.session(), agent, { tracer, warn: () => {} });
  assert.deepEqual(
    seen.spans().map(({ name }) => name),
    ["execute_tool act", "invoke_agent"],
  );
});

test("a log that cannot be read costs the trace of the turn that is open in it, and is said", async () => {
  const { world } = await crashed(undefined);
  const seen = collector();
  const warned: string[] = [];
  const process = world.process(faultyStore(world.store, { append: 2, where: "before", lasts: "for-good" }));
  await watch(world, await openSession(process, "s"), agentOf([done]), {});
  process.die();
  const session = { id: "s", entries: () => Promise.reject(new Error("unreadable")) };
  const result = await watch(
    world,
    await world.open(),
    agentOf([done]),
    { ...seen, session, warn: (text) => warned.push(text) },
    "resume",
  );
  assert.equal(result?.outcome.type, "completed");
  assert.deepEqual(seen.spans(), []);
  assert.match(warned.join(), /the log of s could not be read/);
});

test("a fork tells what it did itself, not what its parent did", async () => {
  const world = new TurnWorld();
  const parent = await world.session();
  await watch(world, parent, agentOf([done]), {});
  const { seq = 0 } = (await parent.summary()) ?? {};
  const fork = await forkSession(world.process(), { session: "s", seq }, "f");
  const seen = collector();
  record(await fork.entries(), seen);
  assert.deepEqual(seen.spans(), []);
  await watch(world, fork, agentOf([done]), {});
  record(await fork.entries(), seen);
  assert.deepEqual(
    named(seen.spans(), "invoke_agent").map(({ attributes }) => attributes["gen_ai.conversation.id"]),
    ["f"],
  );
});

test("a turn that nobody ends is told as far as it came, where that is asked for", async () => {
  const world = new TurnWorld();
  await world.session();
  const process = world.process(faultyStore(world.store, { append: 3, where: "before", lasts: "for-good" }));
  await watch(world, await openSession(process, "s"), agentOf([acts], { tools: acting(() => "x") }), {});
  const entries = await (await world.open()).entries();
  const [omitted, shown] = [collector(), collector()];
  record(entries, omitted);
  assert.deepEqual(omitted.spans(), []);
  record(entries, { ...shown, open: "show" });
  const [turn] = named(shown.spans(), "invoke_agent");
  assert.equal(turn?.attributes["pawl.turn.outcome"], "open");
  assert.equal(turn?.attributes["error.type"], "interrupted");
  assert.equal(named(shown.spans(), "execute_tool act").length, 1, "a body that was entered is shown");
});

test("pauses are counted, with their length, also where the drive ends in one", async () => {
  const seen = collector();
  const items: LiveItem[] = [
    { type: "paused", reason: "full", since: 0 },
    { type: "paused", reason: "full", since: 0 },
    { type: "resumed" },
    { type: "paused", reason: "full", since: 0 },
  ];
  let now = 0;
  await observe(
    { [Symbol.asyncIterator]: () => items.values() as unknown as AsyncIterator<LiveItem> },
    { ...seen, session: { id: "s", entries: async () => [] }, monotonic: () => (now += 1_500) },
  );
  const figures = await seen.figures();
  assert.equal(figures.get("pawl.pauses []")?.sum, 2);
  assert.deepEqual(figures.get("pawl.pause.duration []"), { sum: 3, count: 2 });
});

test("spans of requests are a client's, others internal", async () => {
  const world = new TurnWorld();
  const kinds = new Map<string, SpanKind | undefined>();
  const { tracer } = collector();
  const startSpan: Tracer["startSpan"] = (name, options, within) => {
    kinds.set(name.split(" ")[0] ?? "", options?.kind);
    return tracer.startSpan(name, options, within);
  };
  const agent = agentOf([acts, done], { tools: acting(() => "x") });
  await watch(world, await world.session(), agent, {
    tracer: new Proxy(tracer, {
      get: (target, name) => (name === "startSpan" ? startSpan : Reflect.get(target, name)),
    }),
  });
  assert.deepEqual(Object.fromEntries(kinds), {
    invoke_agent: SpanKind.INTERNAL,
    chat: SpanKind.CLIENT,
    execute_tool: SpanKind.INTERNAL,
  });
});
