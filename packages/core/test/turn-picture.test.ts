import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { PawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { agentOf, assertLawful, deferred, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const bytes = new Uint8Array([137, 80, 78, 71, 1, 2, 3]);
const inputSchema = { type: "object" as const };

/** A tool that shows a picture. */
const look = defineTool({
  inputSchema,
  effect: "read",
  execute: () => ({
    content: [
      { type: "text", text: "here" },
      { type: "file", mediaType: "image/png", url: `data:image/png;base64,${Buffer.from(bytes).toString("base64")}` },
    ],
  }),
});
const act = defineTool({ inputSchema, execute: () => "acted" });

async function asked(script: ScriptEntry[], rest: Partial<Agent> = {}) {
  const world = new TurnWorld();
  const session = await world.session();
  const agent = agentOf(script, { tools: { look, act }, ...rest });
  await world.effects.run(session.run(agent, "go").result);
  assertLawful(await session.entries());
  return { world, prompts: agent.model.requests.map(({ prompt }) => prompt) };
}

function pictures(prompt: LanguageModelV4Prompt | undefined): Uint8Array[] {
  return (prompt ?? []).flatMap((message) =>
    message.role === "user"
      ? message.content.flatMap((part) =>
          part.type === "file" && part.data.type === "data" ? [part.data.data as Uint8Array] : [],
        )
      : [],
  );
}

describe("pictures", () => {
  test("R48: what a tool shows comes behind all results of its message, as bytes, and stays there", async () => {
    const script: ScriptEntry[] = [
      [...call("look", {}, "c1"), ...call("act", {}, "c2"), finish()],
      [...call("act", {}, "c3"), finish()],
      answer,
    ];
    const { prompts } = await asked(script, { images: "send" });
    assert.deepEqual(
      prompts[1]?.map(({ role }) => role),
      ["user", "assistant", "tool", "user"],
    );
    assert.deepEqual(pictures(prompts[1]), [bytes]);
    assert.deepEqual(prompts[2]?.slice(0, 4), prompts[1]);
  });

  test("by default the model is told its name: one that takes no pictures would refuse every later request", async () => {
    const { prompts } = await asked([[...call("look", {}), finish()], answer]);
    assert.deepEqual(
      prompts[1]?.map(({ role }) => role),
      ["user", "assistant", "tool"],
    );
    assert.match(JSON.stringify(prompts[1]), /\[file .*\(image\/png\)\]/);
  });

  test("a picture of a person goes along; what is no picture, too large, or gone, is named", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const blob = await world.store.putBlob(bytes);
    const large = await world.store.putBlob(new Uint8Array(limit.imageBytes + 1));
    const file = (mediaType: string, hash: string, filename: string) => ({
      type: "file" as const,
      mediaType,
      blob: hash,
      filename,
    });
    const agent = agentOf([answer], { images: "send" });
    const input = [
      { type: "text" as const, text: "what is it?" },
      file("image/png", blob, "a.png"),
      file("image/png", large, "b.png"),
      file("image/png", "0".repeat(64), "c.png"),
      file("application/pdf", blob, "d.pdf"),
      { type: "file" as const, mediaType: "audio/mpeg", url: "https://example.org/e.mp3" },
    ];
    await world.effects.run(session.run(agent, input).result);
    const prompt = agent.model.requests[0]?.prompt;
    assert.deepEqual(pictures(prompt), [bytes]);
    const text = JSON.stringify(prompt);
    for (const said of [
      "b.png (image/png) cannot be shown",
      "c.png (image/png) cannot be shown",
      "file d.pdf",
      "example.org/e.mp3",
    ])
      assert.ok(text.includes(said), said);
  });
});

describe("pictures that are not as they should be", () => {
  const shown = (blob: string) => [{ type: "file" as const, mediaType: "image/png", blob, filename: "a.png" }];

  test("one whose bytes are damaged, or none, is named, and the session goes on", async () => {
    const world = new TurnWorld();
    const get = world.store.getBlob.bind(world.store);
    const damaged = "f".repeat(64);
    world.store.getBlob = async (hash) => {
      if (hash === damaged) throw new PawlError("CORRUPT", "the bytes are not those of the hash");
      return get(hash);
    };
    const session = await world.session();
    for (const blob of [damaged, await world.store.putBlob(new Uint8Array())]) {
      const agent = agentOf([answer], { images: "send" });
      const { outcome } = await world.effects.run(session.run(agent, shown(blob)).result);
      assert.equal(outcome.type, "completed");
      assert.match(JSON.stringify(agent.model.requests[0]?.prompt.at(-1)), /a.png \(image.png\) cannot be shown/);
    }
  });

  test("L9: what a broken stream cost is estimated without counting a picture's bytes as words", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const blob = await world.store.putBlob(new Uint8Array(1_000_000));
    const reset = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
    const agent = agentOf([[...say("he"), reset], answer], { images: "send" });
    const { books } = await world.effects.run(session.run(agent, shown(blob)).result);
    assert.ok(books.discarded.tokens.input > 1_000 && books.discarded.tokens.input < 5_000);
  });
});

describe("a request that is made while its announcement is written", () => {
  const shown = (blob: string) => [{ type: "file" as const, mediaType: "image/png", blob, filename: "a.png" }];

  /** A session that is given a picture, before a store that tells what it was asked for. */
  async function announcing(script: ScriptEntry[], rest: Partial<Agent> = {}) {
    const world = new TurnWorld();
    const { store } = world;
    const session = await world.session();
    const blob = await store.putBlob(bytes);
    const agent = agentOf(script, { images: "send", ...rest });
    const asks = { reads: 0, append: store.append.bind(store), getBlob: store.getBlob.bind(store) };
    store.getBlob = (hash) => {
      asks.reads += 1;
      return asks.getBlob(hash);
    };
    store.append = (batch) => asks.append(batch);
    const run = () => session.run(agent, shown(blob)).result;
    return { world, session, agent, asks, run };
  }

  test("L9: its pictures are read meanwhile, once, and it leaves when the announcement is durable", async () => {
    const { world, agent, asks, run } = await announcing([answer]);
    const { append } = asks;
    const durable = deferred();
    asks.append = async (batch) => {
      await durable.promise;
      return append(batch);
    };
    const result = run();
    await world.effects.settle();
    assert.deepEqual([asks.reads, agent.model.requests.length], [1, 0]);
    durable.resolve();
    await world.effects.run(result);
    assert.deepEqual(
      agent.model.requests.map(({ prompt }) => pictures(prompt)),
      [[bytes]],
    );
    assert.equal(asks.reads, 1);
  });

  test("L8: a process that slept past its lease while a picture was read sends no request", async () => {
    const { world, agent, asks, run } = await announcing([answer]);
    const { getBlob } = asks;
    const { clock } = world.effects;
    const awake = clock.monotonic;
    asks.getBlob = async (hash) => {
      await world.effects.settle();
      // No timer of ours has fired yet: only the clock says it.
      clock.monotonic = () => awake() + limit.leaseMs;
      return getBlob(hash);
    };
    await assert.rejects(world.effects.run(run()), { code: "FENCED" });
    assert.deepEqual(agent.model.requests, []);
  });

  test("a picture that cannot be read while the announcement waits ends the turn, and is nobody's unhandled rejection", async () => {
    const { world, session, agent, asks, run } = await announcing([answer]);
    const { append } = asks;
    const durable = deferred();
    asks.append = async (batch) => {
      await durable.promise;
      return append(batch);
    };
    asks.getBlob = async () => {
      throw new PawlError("STORE_UNAVAILABLE", "no picture");
    };
    const result = run();
    await world.effects.settle();
    durable.resolve();
    const { outcome, failure } = await world.effects.run(result);
    assert.deepEqual([outcome.type, failure?.kind, agent.model.requests.length], ["failed", "store", 0]);
    assertLawful(await session.entries());
  });

  test("what a steer has thrown away is not missed, whatever became of it", async () => {
    const { world, session, agent, asks, run } = await announcing([answer]);
    const { append, getBlob } = asks;
    world.store.watch = () => () => {};
    asks.append = async (batch) => {
      if (asks.reads === 0) await session.post("steer", "left, please");
      return append(batch);
    };
    asks.getBlob = async (hash) => {
      if (asks.reads === 1) throw new PawlError("STORE_UNAVAILABLE", "no picture");
      return getBlob(hash);
    };
    const { outcome } = await world.effects.run(run());
    assert.equal(outcome.type, "completed");
    const [prompt] = agent.model.requests.map((request) => request.prompt);
    assert.deepEqual(pictures(prompt), [bytes]);
    assert.match(JSON.stringify(prompt), /left, please/);
  });

  test("where a steer waits, the pictures are read once: for the request that has it", async () => {
    const steering = defineTool({
      inputSchema,
      execute: async () => {
        await session.post("steer", "left, please");
        await world.effects.settle();
        return "ok";
      },
    });
    const script: ScriptEntry[] = [[...call("steering", {}), finish()], answer];
    const { world, session, agent, asks, run } = await announcing(script, { tools: { steering } });
    await world.effects.run(run());
    assert.equal(agent.model.requests.length, 2);
    assert.equal(asks.reads, 2);
  });
});

describe("cache breakpoints", () => {
  const script: ScriptEntry[] = [[...call("act", {}, "c1"), finish()], [...call("act", {}, "c2"), finish()], answer];

  async function prompts(cache: "auto" | "off", provider: string) {
    const world = new TurnWorld();
    const session = await world.session();
    const { model, ...rest } = agentOf(script, { tools: { act }, instructions: "be brief", cache });
    await world.effects.run(session.run({ ...rest, model: { ...model, provider } }, "go").result);
    return model.requests.map(({ prompt }) => prompt);
  }

  const marked = (prompt: LanguageModelV4Prompt | undefined) =>
    (prompt ?? []).flatMap(({ providerOptions }, at) => (providerOptions?.["anthropic"]?.["cacheControl"] ? [at] : []));

  test("instructions, the end of this request and of the one before are marked, at most four; the content is the same", async () => {
    const asked = await prompts("auto", "anthropic.messages");
    assert.deepEqual(asked.map(marked), [
      [0, 1],
      [0, 1, 3],
      [0, 3, 5],
    ]);
    const plain = await prompts("off", "anthropic.messages");
    const bare = (prompt: LanguageModelV4Prompt) => prompt.map(({ role, content }) => ({ role, content }));
    assert.deepEqual(asked.map(bare), plain.map(bare));
    assert.deepEqual(plain.flatMap(marked), []);
  });

  test("other providers are sent none", async () => {
    assert.deepEqual((await prompts("auto", "openai.chat")).flatMap(marked), []);
  });
});
