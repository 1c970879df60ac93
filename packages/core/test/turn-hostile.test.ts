/** Hostile bodies, streams, posts and listeners: each was a hole once. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, scriptedModel } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { TurnResult } from "../src/turn/report.ts";
import { openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, eventsOf, outputText, promptFor, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const acting: ScriptEntry = [...call("act", {}, "c1"), finish("tool-calls")];
const act = (execute: (input: unknown) => unknown, rest = {}) => ({
  act: defineTool({ inputSchema: schema, locks: () => [], ...rest, execute }),
});

describe("hostile values", () => {
  for (const [title, message] of [
    ["an object", { code: 7 }],
    ["a number", 42],
  ] as const) {
    test(`a body throws an error whose message is ${title}: an error result, no unhandled rejection`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const tools = act(() => {
        throw Object.assign(new Error(), { message });
      });
      const run = world.effects.run(session.run(agentOf([acting, answer], { tools }), "go").result);
      const { outcome } = await run;
      assert.equal(outcome.type, "completed");
      const [settled] = eventsOf(await session.entries(), "tool.settled");
      assert.equal(settled?.output.code, "TOOL_FAILED");
    });
  }

  for (const [title, thrown] of [
    ["an object without a prototype", Object.create(null)],
    ["an error whose message is an object", Object.assign(new Error(), { message: { a: 1 } })],
    [
      "a proxy that is revoked",
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
    ],
  ] as const) {
    test(`L7: a policy that throws ${title} is a step failure`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const permission = () => {
        throw thrown;
      };
      const agent = agentOf([acting, answer], { tools: act(() => "x"), permission });
      const { outcome } = await world.effects.run(session.run(agent, "go").result);
      assert.equal(outcome.type, "failed");
      assertLawful(await session.entries());
      assert.equal((await session.summary())?.head.openTurn, undefined);
    });
  }

  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  for (const [title, value] of [
    ["a bigint", 1n],
    ["a cycle", cycle],
  ] as const) {
    test(`L7: provider metadata with ${title}: the turn has its end`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const script: ScriptEntry[] = [
        [
          { type: "text-start", id: "1", providerMetadata: { p: { value: value as never } } },
          { type: "text-delta", id: "1", delta: "hello" },
          { type: "text-end", id: "1" },
          finish(),
        ],
      ];
      const { outcome } = await world.effects.run(session.run(agentOf(script), "go").result);
      assert.ok(["failed", "completed"].includes(outcome.type));
      assert.equal((await session.summary())?.head.openTurn, undefined);
    });
  }

  test("L7: a result's file part with a field that is no JSON: the turn has its end", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const tools = act(() => ({
      content: [{ type: "file", mediaType: "image/png", url: "https://x.test/a.png", size: 10n }],
    }));
    const { outcome } = await world.effects.run(session.run(agentOf([acting, answer], { tools }), "go").result);
    assert.ok(["failed", "completed"].includes(outcome.type));
    assert.equal((await session.summary())?.head.openTurn, undefined);
  });
});

describe("provider-executed calls", () => {
  test("L4: a call that is marked as the provider's only when it is whole is not run here, and bars a retry", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    let runs = 0;
    const tools = act(() => {
      runs += 1;
      return "ran here, too";
    });
    const script: ScriptEntry[] = [
      [
        { type: "tool-input-start", id: "x1", toolName: "act" },
        { type: "tool-input-delta", id: "x1", delta: "{}" },
        { type: "tool-input-end", id: "x1" },
        { type: "tool-call", toolCallId: "x1", toolName: "act", input: "{}", providerExecuted: true },
        { type: "tool-result", toolCallId: "x1", toolName: "act", result: { ok: true } },
        ...say("searched"),
        finish(),
      ],
      answer,
    ];
    await world.effects.run(session.run(agentOf(script, { tools }), "go").result);
    assert.equal(runs, 0, "the provider has run it");
  });

  test("L5: and a stream that breaks behind it is not asked again", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const script: ScriptEntry[] = [
      [
        { type: "tool-input-start", id: "x1", toolName: "buy" },
        { type: "tool-input-delta", id: "x1", delta: "{}" },
        { type: "tool-input-end", id: "x1" },
        { type: "tool-call", toolCallId: "x1", toolName: "buy", input: "{}", providerExecuted: true },
        { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) },
      ],
      answer,
    ];
    const agent = agentOf(script);
    await world.effects.run(session.run(agent, "go").result);
    assert.equal(agent.model.requests.length, 1);
  });
});

describe("posts", () => {
  test("an input that no record can hold is refused, and bars no later one", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const large = "\u20ac".repeat(6 * 1024 * 1024);
    await session.post("input", large, "large").catch((error: PawlError) => assert.equal(error.code, "INVALID_INPUT"));
    for (const nth of [1, 2]) {
      const { outcome }: TurnResult = await world.effects.run(
        (await world.open()).run(agentOf([answer, answer, answer]), `go ${nth}`).result,
      );
      assert.equal(outcome.type, "completed");
    }
  });

  test("a run that is aborted before its turn began leaves no input behind", async () => {
    for (const at of ["acquireLease", "mailbox", "post"] as const) {
      const world = new TurnWorld();
      await world.session();
      const stop = new AbortController();
      const store = new Proxy(world.store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          if (name === at)
            return async (...given: unknown[]) => {
              const said: unknown = await Reflect.apply(member, target, given);
              stop.abort();
              return said;
            };
          return member.bind(target);
        },
      });
      const session = await openSession(world.process(store), "s");
      const run = world.effects.run(
        session.run(agentOf([answer]), "delete everything", { signal: stop.signal }).result,
      );
      await run.catch(() => {});
      const agent = agentOf([answer, answer]);
      await world.effects.run((await world.open()).run(agent, "say hello").result);
      assert.equal(
        agent.model.requests.length,
        1,
        `aborted in ${at}: the input that was stopped ran later all the same`,
      );
    }
  });

  test("an agent whose header cannot be recorded is refused before its input is posted", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const bad = agentOf([answer], { settings: { temperature: Number.NaN } });
    await world.effects.run(session.run(bad, "first").result).catch(() => {});
    assert.deepEqual(await world.mailbox(), []);
  });

  test("L7: where a batch is cut in pieces, what lists say of a session is what its log says", async () => {
    const many = Array.from({ length: 1_500 }, (_, at) => call("act", {}, `c${at}`)).flat();
    const tools = act(() => "x");
    const script: ScriptEntry[] = [[...many, finish("tool-calls")], answer, answer];
    for (let append = 1; append < 12; append += 1) {
      const world = new TurnWorld();
      await world.session();
      const store = faultyStore(world.store, { append, where: "before", lasts: "for-good" });
      const process = world.process(store);
      const session = await openSession(process, "s");
      const turn = session.run(agentOf(script, { tools, permission: () => "ask", unanswered: "wait" }), "go");
      turn.result.catch(() => {});
      await world.effects.settle();
      const other = await world.open();
      const open = (await other.summary())?.head.openTurn;
      if (open !== undefined) await other.abort(open);
      await world.effects.run(turn.result).catch(() => {});
      process.die();
      const entries = await other.entries();
      const log = eventsOf(entries, "turn.ended").length < eventsOf(entries, "turn.started").length;
      const head = (await other.summary())?.head.openTurn !== undefined;
      assert.equal(head, log, `append ${append}: the head says ${head ? "open" : "ended"}, the log does not`);
    }
  });
});

describe("bounds", () => {
  for (const what of ["locks", "needsApproval"] as const) {
    test(`L6: ${what} that never answers: an abort ends the turn`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const stop = new AbortController();
      const tools = act(() => "x", { [what]: () => new Promise(() => {}) });
      const turn = session.run(agentOf([acting, answer], { tools }), "go", { signal: stop.signal });
      await world.effects.settle();
      stop.abort();
      const renewed = Promise.race([
        turn.result.then(
          (result) => result.outcome.type,
          () => "rejected",
        ),
        (async () => {
          for (let n = 0; n < 200; n += 1) {
            world.effects.advance(10_000);
            await world.effects.settle();
          }
          return "hangs";
        })(),
      ]);
      assert.equal(await renewed, "aborted");
    });
  }

  test("L6: a body that kills its process at every run does not do so for ever", async () => {
    const world = new TurnWorld();
    await world.session();
    let runs = 0;
    let over = false;
    for (let life = 0; life < 40 && !over; life += 1) {
      const dead = { now: false };
      const store = new Proxy(world.store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          if (name === "watch") return member.bind(target);
          return async (...given: unknown[]) => {
            if (dead.now) throw new PawlError("STORE_UNAVAILABLE", "dead");
            return Reflect.apply(member, target, given);
          };
        },
      });
      const process = world.process(store);
      const session = await openSession(process, "s");
      const tools = act(
        () => {
          runs += 1;
          dead.now = true;
          return "never heard";
        },
        { effect: "idempotent" },
      );
      const agent = agentOf(life === 0 ? [acting, answer] : [answer], { tools });
      const turn = life === 0 ? session.run(agent, "go") : session.resume(agent);
      over = await world.effects.run(turn.result).then(
        () => true,
        () => false,
      );
      process.die();
    }
    assert.ok(over && runs <= 10, `the body has run ${runs} times, and its turn is ${over ? "over" : "open"}`);
  });

  test("L6: an answer without an end is cut where no record could hold it", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    let sent = 0;
    const piece = "x".repeat(1024 * 1024);
    const model = {
      ...scriptedModel([]),
      doStream: async ({ abortSignal }: { abortSignal?: AbortSignal }) => ({
        stream: new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setImmediate(resolve));
            if (abortSignal?.aborted || sent >= 64) return controller.close();
            sent += 1;
            controller.enqueue({ type: "text-delta", id: "1", delta: piece });
          },
        }),
      }),
    };
    const policy = { recovery: { attemptsPerStep: 1 } };
    const { outcome } = await world.effects.run(session.run({ model: model as never, ...policy }, "go").result);
    assert.ok(sent <= limit.recordBytes / piece.length + 2, `${sent} MB were read (${outcome.type})`);
  });

  test("L7: a dead attempt whose fragment no record can hold: the next input settles it all the same", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const session = await openSession(process, "s");
    const piece = "x".repeat(1024 * 1024);
    const deltas = Array.from({ length: 17 }, () => ({ type: "text-delta" as const, id: "1", delta: piece }));
    const turn = session.run(agentOf([[...deltas, { silence: true }]]), "go");
    turn.result.catch(() => {});
    await world.effects.settle();
    for (let n = 0; n < 20; n += 1) await world.effects.settle();
    process.die();
    const { outcome } = await world.effects.run((await world.open()).run(agentOf([answer]), "next").result);
    assert.equal(outcome.type, "completed");
  });
});

describe("settlement", () => {
  for (const [title, rest] of [
    ["nobody is there to ask", { permission: () => "ask" }],
    ["policy has changed to deny", { permission: () => "deny" }],
  ] as const) {
    test(`an entered call is not told as denied: ${title}`, async () => {
      const world = new TurnWorld();
      await world.session();
      const process = world.process();
      const session = await openSession(process, "s");
      const tools = act(() => new Promise(() => {}), { effect: "idempotent" });
      const turn = session.run(agentOf([acting], { tools }), "go");
      turn.result.catch(() => {});
      await world.effects.settle();
      process.die();
      const next = await world.open();
      const agent = agentOf([answer], { tools: act(() => "ran", { effect: "idempotent" }), ...(rest as object) });
      await world.effects.run(next.resume(agent).result);
      const [settled] = eventsOf(await next.entries(), "tool.settled");
      assert.equal(settled?.output.code, "TOOL_OUTCOME_UNKNOWN", settled && outputText(settled.output));
    });
  }
});

/** What a package is sent over four steps with pictures. `writes`: it changes whatever it is given, as deep as markers go. */
async function sentBy(provider: string, writes: boolean): Promise<string[]> {
  const world = new TurnWorld();
  const session = await world.session();
  const url = `data:image/png;base64,${Buffer.from("picture").toString("base64")}`;
  const tools = act(() => ({ content: [{ type: "file", mediaType: "image/png", url }] }));
  const inner = scriptedModel([
    acting,
    [...say("and"), ...call("act", {}, "c1"), finish("tool-calls")],
    acting,
    answer,
  ]);
  const sent: string[] = [];
  const model = {
    ...inner,
    provider,
    doStream: async (options: Parameters<typeof inner.doStream>[0]) => {
      const { prompt, tools: offered } = options;
      sent.push(JSON.stringify({ prompt, offered }));
      const stream = await inner.doStream(options);
      if (!writes) return stream;
      for (const message of prompt as { providerOptions?: unknown; content: unknown }[]) {
        message.providerOptions = { p: { cache: 1 } };
        if (!Array.isArray(message.content)) continue;
        for (const part of message.content)
          Object.assign(part, { providerOptions: {}, text: "!", data: "!", input: "!", output: "!" });
        message.content.push({ type: "text", text: "more" });
      }
      prompt.reverse().pop();
      for (const tool of offered ?? [])
        if (tool.type === "function") Object.assign(tool.inputSchema, { type: "array" });
      return stream;
    },
  };
  await world.effects.run(session.run({ model, tools, images: "send", instructions: "be brief" }, "go").result);
  assertLawful(await session.entries());
  return sent;
}

describe("aliases", () => {
  test("L10: a provider package that writes into the prompt does not change the next request", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const inner = scriptedModel([acting, answer]);
    const sent: string[] = [];
    const model = {
      ...inner,
      doStream: (options: Parameters<typeof inner.doStream>[0]) => {
        sent.push(JSON.stringify(options.prompt[0]));
        // As cache markers are put in by hand.
        for (const message of options.prompt) {
          message.providerOptions = { p: { cache: sent.length } };
          const [part] = message.content as { type: string; text?: string }[];
          if (part?.type === "text") part.text += "!";
        }
        return inner.doStream(options);
      },
    };
    await world.effects.run(session.run({ model, tools: act(() => "x") }, "go").result);
    assert.equal(sent[1], sent[0]);
  });

  for (const provider of ["test", "anthropic.messages"])
    test(`L10: nor does one that changes all that it is given, pictures and cache markers too (${provider})`, async () => {
      const [honest, other] = await Promise.all([false, true].map((writes) => sentBy(provider, writes)));
      assert.equal(honest?.length, 4);
      assert.deepEqual(other, honest);
    });

  test("L10: a subscriber that writes into what it is told changes nothing that is sent", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const slow = Promise.withResolvers<string>();
    const tools = {
      fast: defineTool({ inputSchema: schema, locks: () => [], execute: () => "a secret" }),
      slow: defineTool({ inputSchema: schema, locks: () => [], execute: () => slow.promise }),
      third: defineTool({ inputSchema: schema, locks: () => [{ key: "f", mode: "write" }], execute: () => "3" }),
    };
    const script: ScriptEntry[] = [
      [...call("fast", {}, "c1"), ...call("slow", {}, "c2"), ...call("third", {}, "c3"), finish("tool-calls")],
      answer,
    ];
    const agent = agentOf(script, { tools, concurrentTools: 2 });
    const turn = session.run(agent, "go");
    const watch = (async () => {
      for await (const item of turn) {
        if (item.type !== "entry" || item.entry.event.type !== "tool.settled") continue;
        const [part] = item.entry.event.output.content;
        if (part?.type === "text" && part.text === "a secret") {
          part.text = "[hidden]";
          slow.resolve("late");
        }
      }
    })();
    await world.effects.run(turn.result);
    await watch;
    assert.deepEqual(
      agent.model.requests[1]?.prompt.find(({ role }) => role === "tool"),
      promptFor(await session.entries()).find(({ role }) => role === "tool"),
    );
  });
});
