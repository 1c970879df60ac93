/** Odd errors, odd answers, odd moments: each was a hole once. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { classify } from "../src/attempt/failure.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, scriptedModel } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, eventsOf, outputText, promptFor, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const acting: ScriptEntry = [...call("act", {}, "c1"), finish("tool-calls")];
const act = (execute: (input: unknown) => unknown, rest = {}) => ({
  act: defineTool({ inputSchema: schema, locks: () => [], ...rest, execute }),
});

const odd = (usage: unknown, reason: unknown = { unified: "stop", raw: "stop" }) =>
  ({ type: "finish", usage, finishReason: reason }) as never;
const tokens = (total: unknown) => ({ inputTokens: { total }, outputTokens: { total: 5 } });

describe("ornaments of an answer that cannot be recorded do not cost the answer", () => {
  const cases: [string, unknown[]][] = [
    ["negative usage", [...say("done"), odd(tokens(-1))]],
    ["a finish reason that is no text", [...say("done"), odd(tokens(1), { unified: "stop", raw: 7 })]],
    ["a response id that is a number", [{ type: "response-metadata", id: 12 }, ...say("done"), finish()]],
    [
      "metadata with a hole in a list",
      [
        { type: "text-start", id: "1", providerMetadata: { p: { a: [undefined] } } },
        { type: "text-delta", id: "1", delta: "done" },
        finish(),
      ],
    ],
    [
      "metadata with a function",
      [
        { type: "text-start", id: "1", providerMetadata: { p: { f: () => 1 } } },
        { type: "text-delta", id: "1", delta: "done" },
        finish(),
      ],
    ],
    [
      "metadata with a date",
      [
        { type: "text-start", id: "1", providerMetadata: { p: { f: new Date(0) } } },
        { type: "text-delta", id: "1", delta: "done" },
        finish(),
      ],
    ],
    [
      "a source with a date",
      [
        { type: "source", sourceType: "url", id: "s", url: "https://x.test", at: new Date(0) },
        ...say("done"),
        finish(),
      ],
    ],
    [
      "a provider's result that is undefined",
      [
        { type: "tool-call", toolCallId: "p", toolName: "web", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "p", toolName: "web", result: undefined },
        ...say("done"),
        finish(),
      ],
    ],
    [
      "a call without a name",
      [{ type: "tool-call", toolCallId: "p", toolName: undefined, input: "{}" }, ...say("done"), finish()],
    ],
  ];
  for (const [title, script] of cases)
    test(title, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const result = await world.effects.run(session.run(agentOf([script as never, answer]), "go").result);
      assert.equal(result.outcome.type, "completed", JSON.stringify(result.failure));
      assert.equal(result.text, "done");
    });
});

test("L1: a result that the provider sends for a call of ours is not a second one", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  const script = [
    [
      ...call("act", {}, "c1"),
      { type: "tool-result", toolCallId: "c1", toolName: "act", result: { ok: 1 } },
      finish("tool-calls"),
    ],
    answer,
  ];
  const agent = agentOf(script as never, { tools: act(() => "ran") });
  await world.effects.run(session.run(agent, "go").result);
  const sent = JSON.stringify(promptFor(await session.entries()));
  assert.equal(sent.match(/"type":"tool-result"/g)?.length, 1);
});

test("L3: an abort whose batch is cut in pieces stays in the mailbox until the last", async () => {
  const many = Array.from({ length: 1_500 }, (_, at) => call("act", {}, `c${at}`)).flat();
  for (let append = 3; append < 9; append += 1) {
    const world = new TurnWorld();
    await world.session();
    const process = world.process(faultyStore(world.store, { append, where: "before", lasts: "for-good" }));
    const session = await openSession(process, "s");
    const agent = agentOf([[...many, finish("tool-calls")], answer], {
      tools: act(() => "x"),
      permission: () => "ask",
      unanswered: "wait",
    });
    const turn = session.run(agent, "go");
    turn.result.catch(() => {});
    await world.effects.settle();
    const other = await world.open();
    const open = (await other.summary())?.head.openTurn;
    if (open === undefined) continue;
    await other.abort(open);
    await world.effects.run(turn.result).catch(() => {});
    process.die();
    const entries = await other.entries();
    if (eventsOf(entries, "turn.ended").length > 0) continue;
    const posts = await world.store.mailbox("s");
    assert.ok(
      posts.some(({ kind }) => kind === "abort"),
      `append ${append}: the abort is gone, its turn is open`,
    );
  }
});

test("classify never throws", () => {
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const thrower = new Proxy(new Error("x"), {
    get() {
      throw new Error("no");
    },
    getPrototypeOf() {
      throw new Error("no");
    },
  });
  const headers = {
    get retryAfter() {
      throw 1;
    },
    [Symbol.iterator]: () => {
      throw 1;
    },
  };
  for (const e of [
    revoked(),
    thrower,
    { responseHeaders: revoked() },
    { responseHeaders: headers },
    { responseHeaders: [[revoked()]] },
    { message: Symbol("x") },
    Symbol("x"),
    10n,
    () => 1,
    { code: revoked(), status: "x", data: revoked() },
    { errors: revoked() },
    Object.create(null),
    {
      responseHeaders: new Proxy(
        {},
        {
          ownKeys() {
            throw 1;
          },
        },
      ),
    },
    { responseHeaders: { "retry-after": revoked() } },
    { status: 404.5 },
  ])
    for (const streaming of [true, false]) classify(e, { now: 1, streaming, noted: e });
});

for (const [title, chunk] of [
  ["undefined", undefined],
  ["null", null],
  [
    "a getter that throws",
    {
      get type() {
        throw new Error("no");
      },
    },
  ],
  [
    "an error part whose error throws",
    {
      type: "error",
      get error() {
        throw new Error("no");
      },
    },
  ],
  [
    "an error part with a revoked proxy",
    {
      type: "error",
      error: (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
    },
  ],
  ["error with status 404.5", { type: "error", error: { statusCode: 404.5, message: "x" } }],
  ["delta null", { type: "text-delta", id: "1", delta: null }],
] as const)
  test(`a stream with ${title} ends its turn, lawfully`, async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const model = {
      ...scriptedModel([]),
      doStream: async () => ({
        stream: new ReadableStream({
          start(c) {
            c.enqueue(chunk as never);
            c.close();
          },
        }),
      }),
    };
    const r = await world.effects.run(session.run({ model: model as never }, "go").result);
    assert.notEqual(r.failure?.kind, "store", JSON.stringify(r.failure));
    assertLawful(await session.entries());
  });

for (const [title, value] of [
  [
    "revoked",
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ],
  // biome-ignore lint/suspicious/noThenProperty: it is what is tested
  ["thenable never (timeout)", () => ({ then() {} })],
  [
    "thenable that throws",
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: it is what is tested
      then() {
        throw Object.create(null);
      },
    }),
  ],
  [
    "getter content",
    () => ({
      get content() {
        throw 1;
      },
    }),
  ],
  ["symbol", () => Symbol("x")],
  ["function", () => () => 1],
  ["bigint", () => 1n],
  ["no proto", () => Object.create(null)],
  [
    "toJSON throws",
    () => ({
      toJSON() {
        throw new Error("x");
      },
    }),
  ],
  [
    "content filename huge",
    () => ({
      content: [{ type: "file", mediaType: "x/y", filename: "f".repeat(17 * 1024 * 1024), url: "https://x.test" }],
    }),
  ],
  [
    "generator throws",
    async function* () {
      yield 1;
      throw 5;
    },
  ],
  ["sparse content", () => ({ content: [undefined, { type: "text", text: "a" }] })],
] as const)
  test(`a body returning ${title}: the turn completes`, async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const r = await world.effects.run(
      session.run(
        agentOf([[...call("act", {}, "c1"), finish("tool-calls")], answer], { tools: act(value as never) }),
        "go",
      ).result,
    );
    assert.equal(r.outcome.type, "completed", JSON.stringify(r.failure));
    assertLawful(await session.entries());
  });

for (const mode of ["run", "resume"] as const)
  test(`L6: ${mode}: a reconciler that never answers, of a tool without a deadline: an abort ends it`, async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const tools = {
      act: defineTool({
        inputSchema: schema,
        timeoutMs: 0,
        execute: () => new Promise(() => {}),
        reconcile: () => new Promise<never>(() => {}),
      }),
    };
    (await openSession(process, "s")).run(agentOf([acting], { tools }), "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    const next = await world.open();
    const stop = new AbortController();
    const agent = agentOf([answer], { tools });
    const turn =
      mode === "run" ? next.run(agent, "next", { signal: stop.signal }) : next.resume(agent, { signal: stop.signal });
    await world.effects.settle();
    stop.abort();
    const ended = await Promise.race([
      turn.result.then(
        () => "ended",
        () => "ended",
      ),
      (async () => {
        for (let n = 0; n < 300; n += 1) {
          world.effects.advance(10_000);
          await world.effects.settle();
        }
        return "hangs";
      })(),
    ]);
    assert.equal(ended, "ended");
    assertLawful(await next.entries());
  });

test("L3: a body that blocks its process for longer than the lease does not lose its result where nobody took over", async () => {
  const world = new TurnWorld();
  await world.session();
  let blocked = 0;
  const inner = world.effects;
  const effects = {
    clock: { now: () => inner.clock.now(), monotonic: () => inner.clock.monotonic() + blocked },
    timers: inner.timers,
    random: () => 0.5,
    id: (p: string) => inner.id(p),
    validate: inner.validate,
  };
  const tools = {
    act: defineTool({
      inputSchema: schema,
      execute: () => {
        blocked += 20_000;
        return "built";
      },
    }),
  };
  const session = await openSession({ ...world.process(), effects }, "s");
  const { outcome } = await inner.run(session.run(agentOf([acting, answer], { tools }), "go").result);
  assert.equal(outcome.type, "completed");
  assert.equal(
    outputText(eventsOf(await session.entries(), "tool.settled")[0]?.output ?? { content: [], isError: true }),
    "built",
  );
});

test("a policy that writes into the question does not change what runs", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  const ran: unknown[] = [];
  const tools = {
    act: defineTool<{ command?: string }>({
      inputSchema: schema,
      execute: ({ command }) => {
        ran.push(command);
        return "x";
      },
    }),
  };
  const permission = ({ input }: { input: unknown }) => {
    (input as { command: string }).command = "rm -rf /";
    return "allow" as const;
  };
  await world.effects.run(
    session.run(
      agentOf([[...call("act", { command: "ls" }, "c1"), finish("tool-calls")], answer], {
        tools: tools as never,
        permission,
      }),
      "go",
    ).result,
  );
  assert.deepEqual(ran, ["ls"]);
});

test("L6: preliminary results without an end are cut", async () => {
  const world = new TurnWorld();
  const session = await world.session();
  let sent = 0;
  const model = {
    ...agentOf([]).model,
    doStream: async ({ abortSignal }: { abortSignal?: AbortSignal }) => ({
      stream: new ReadableStream({
        async pull(c) {
          if (abortSignal?.aborted || sent > 5_000) return c.close();
          if (sent++ === 0)
            return c.enqueue({
              type: "tool-call",
              toolCallId: "p",
              toolName: "web",
              input: "{}",
              providerExecuted: true,
            });
          world.effects.advance(60_000);
          await new Promise((r) => setImmediate(r));
          c.enqueue({ type: "tool-result", toolCallId: "p", toolName: "web", result: { n: sent }, preliminary: true });
        },
      }),
    }),
  };
  await session.run({ model: model as never }, "go").result.catch(() => {});
  assert.ok(sent < 5_000, `${sent} minutes`);
});
