/** Silence, under a clock that only moves when told. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type AttemptResult, runAttempt } from "../src/attempt/run.ts";
import { defaultWatch, Watchdog, type WatchPolicy } from "../src/attempt/watchdog.ts";
import { watchedFetch } from "../src/attempt/watched-fetch.ts";
import { limit } from "../src/limit.ts";
import { FakeEffects, finish, say, scriptedModel } from "../src/testing.ts";

type Controller = ReadableStreamDefaultController<LanguageModelV4StreamPart>;

/** Lets every promise that can settle do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

function start(
  model: LanguageModelV4,
  effects: FakeEffects,
  watch: Partial<WatchPolicy> = {},
  signal = new AbortController().signal,
): Promise<AttemptResult> {
  return runAttempt(
    {
      attempt: "a_1",
      model,
      options: { prompt: [] },
      signal,
      watch: { ...defaultWatch, ...watch },
      sink: { started: () => {}, delta: () => {}, ended: () => {} },
    },
    effects,
  );
}

/** A model whose stream the test feeds, and which never listens to its signal. */
function fedModel(cancel: () => Promise<void> = async () => {}): {
  model: LanguageModelV4;
  feed(...parts: LanguageModelV4StreamPart[]): void;
  close(): void;
} {
  let controller: Controller | undefined;
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start: (given) => {
      controller = given;
    },
    cancel,
  });
  const model = { ...scriptedModel([]), doStream: async () => ({ stream }) } as LanguageModelV4;
  return {
    model,
    feed: (...parts) => parts.forEach((part) => controller?.enqueue(part)),
    close: () => controller?.close(),
  };
}

const argument = (delta: string): LanguageModelV4StreamPart => ({ type: "tool-input-delta", id: "c", delta });
const ping = { type: "ping" } as unknown as LanguageModelV4StreamPart;

describe("the watchdog", () => {
  it("R05: a stream that goes silent is ended at the limit, and its `return` is not waited for", async () => {
    const effects = new FakeEffects();
    let cancelled = false;
    const { model, feed } = fedModel(() => {
      cancelled = true;
      return new Promise(() => {});
    });
    const result = start(model, effects);
    feed({ type: "response-metadata", id: "r" });
    await settled();
    effects.advance(defaultWatch.silenceMs - 1);
    await settled();
    assert.equal(cancelled, false);
    effects.advance(1);
    const { failure } = await result;
    assert.equal(cancelled, true);
    assert.deepEqual([failure?.kind, failure?.retryable, failure?.detector], ["stream-broken", true, "watchdog"]);
    assert.match(failure?.message ?? "", /silent for 120 s/);
    assert.equal(effects.waiting, 0);
  });

  it("R06: armed before dispatch: a request that never opens ends at its own limit, and a late one is let go", async () => {
    const effects = new FakeEffects();
    const opening = Promise.withResolvers<Awaited<ReturnType<LanguageModelV4["doStream"]>>>();
    const signals: AbortSignal[] = [];
    const model = {
      ...scriptedModel([]),
      doStream: (options: { abortSignal?: AbortSignal }) => {
        if (options.abortSignal) signals.push(options.abortSignal);
        return opening.promise;
      },
    } as LanguageModelV4;
    const result = start(model, effects);
    await settled();
    effects.advance(defaultWatch.firstMs);
    const { failure } = await result;
    assert.deepEqual([failure?.kind, failure?.retryable], ["connect", true]);
    assert.equal(signals[0]?.aborted, true);
    let letGo = false;
    opening.resolve({
      stream: new ReadableStream({
        cancel: () => {
          letGo = true;
        },
      }),
    });
    await settled();
    assert.equal(letGo, true);
  });

  it("R06: a fetch that settles only on abort ends at the connect budget", async () => {
    const effects = new FakeEffects();
    const { modelAt } = await import("./wire-provider.ts");
    const black: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    for (const edge of ["watched", "bare"] as const) {
      for (const protocol of ["chat", "responses", "anthropic"] as const) {
        const result = start(modelAt("http://nowhere/v1", protocol, edge, black), effects);
        for (let turn = 0; turn < 20; turn += 1) await settled();
        effects.advance(defaultWatch.firstMs);
        assert.equal((await result).failure?.kind, "connect");
      }
    }
  });

  it("R07: keep-alives hold the transport clock, never the progress clock", async () => {
    const empty: LanguageModelV4StreamPart[] = [
      ping,
      { type: "raw", rawValue: { choices: [] } },
      { type: "text-delta", id: "1", delta: "" },
      { type: "text-start", id: "1" },
      { type: "response-metadata", id: "r" },
      { type: "custom", kind: "anthropic.message_start" },
    ];
    for (const keepAlive of empty) {
      const effects = new FakeEffects();
      const { model, feed } = fedModel();
      const result = start(model, effects);
      let ended = false;
      void result.then(() => {
        ended = true;
      });
      let beats = 0;
      while (!ended && beats < 1_000) {
        beats += 1;
        feed(keepAlive);
        await settled();
        effects.advance(5_000);
        await settled();
      }
      assert.match((await result).failure?.message ?? "", /no progress for 600 s/, keepAlive.type);
      assert.equal(beats, defaultWatch.progressMs / 5_000);
    }
  });

  it("R08: 20 minutes of argument deltas, one a second, are never cut", async () => {
    const effects = new FakeEffects();
    const { model, feed, close } = fedModel();
    const result = start(model, effects);
    feed({ type: "tool-input-start", id: "c", toolName: "write" }, argument('{"content":"'));
    for (let second = 0; second < 1_200; second += 1) {
      feed(argument("x"));
      await settled();
      effects.advance(1_000);
    }
    feed(
      argument('"}'),
      { type: "tool-call", toolCallId: "c", toolName: "write", input: `{"content":"${"x".repeat(1_200)}"}` },
      finish("tool-calls"),
    );
    close();
    assert.equal((await result).failure, undefined);
  });

  it("R08: four minutes of pings before text, and a burst every 100 s, survive the defaults", async () => {
    for (const [part, every, times] of [
      [ping, 10_000, 24],
      [{ type: "text-delta", id: "1", delta: "x".repeat(65_536) }, 100_000, 30],
    ] as const) {
      const effects = new FakeEffects();
      const { model, feed, close } = fedModel();
      const result = start(model, effects);
      for (let beat = 0; beat < times; beat += 1) {
        feed(part as LanguageModelV4StreamPart);
        await settled();
        effects.advance(every);
        await settled();
      }
      feed(...say("done"), finish("stop"));
      close();
      assert.equal((await result).failure, undefined);
    }
  });

  it("a total limit ends even a live stream; every limit can be switched off", async () => {
    const effects = new FakeEffects();
    const { model, feed } = fedModel();
    const result = start(model, effects, { totalMs: 10_000 });
    for (let second = 0; second < 10; second += 1) {
      feed({ type: "text-delta", id: "1", delta: "x" });
      await settled();
      effects.advance(1_000);
    }
    assert.match((await result).failure?.message ?? "", /not finished within 10 s/);

    const off = new FakeEffects();
    const quiet = new Watchdog(off, { firstMs: 0, silenceMs: 0, progressMs: 0, totalMs: 0 }, () =>
      assert.fail("nothing is watched"),
    );
    quiet.heard(0, true);
    off.advance(limit.timerMs);
    assert.equal(off.waiting, 0);
  });

  it("R13: a limit beyond what a timer holds is still a limit", () => {
    const effects = new FakeEffects();
    let expired = false;
    new Watchdog(effects, { firstMs: limit.timerMs + 5, silenceMs: 0, progressMs: 0, totalMs: 0 }, () => {
      expired = true;
    });
    effects.advance(limit.timerMs + 4);
    assert.equal(expired, false);
    effects.advance(1);
    assert.equal(expired, true);
  });

  it("aborting frees a read that never settles, and is an abort", async () => {
    for (const reason of [undefined, new TypeError("terminated"), "stop"]) {
      const effects = new FakeEffects();
      const { model, feed } = fedModel(() => new Promise(() => {}));
      const abort = new AbortController();
      const result = start(model, effects, {}, abort.signal);
      feed(...say("half").slice(0, 2));
      await settled();
      abort.abort(reason);
      assert.equal((await result).failure?.kind, "aborted");
      assert.equal(effects.waiting, 0);
    }
  });

  it("a turn that was aborted before dispatch sends nothing", async () => {
    const model = scriptedModel([[...say("x"), finish()]]);
    const { failure } = await start(model, new FakeEffects(), {}, AbortSignal.abort());
    assert.deepEqual([failure?.kind, model.requests.length], ["aborted", 0]);
  });
});

describe("an error part", () => {
  it("keeps its kind, whatever the stream does behind it", async () => {
    const refusal = {
      type: "error",
      error: { type: "insufficient_quota", message: "you exceeded your current quota" },
    };
    const endings = [[], [{ fail: new TypeError("terminated") }], [{ silence: true as const }]];
    for (const ending of endings) {
      const effects = new FakeEffects();
      const model = scriptedModel([[...say("he"), refusal as LanguageModelV4StreamPart, ...ending]]);
      const { failure } = await effects.run(start(model, effects));
      assert.deepEqual([failure?.kind, failure?.retryable], ["quota", false], JSON.stringify(ending));
    }
  });
});

describe("the transport clock by bytes", () => {
  /** A response whose bytes the test feeds. */
  function fedFetch(): { fetch: typeof fetch; feed(text: string): void } {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given;
      },
    });
    return {
      fetch: watchedFetch(async () => new Response(body, { headers: { "content-type": "text/event-stream" } })),
      feed: (text) => controller?.enqueue(encoder.encode(text)),
    };
  }

  it("R07 R08: comments and halves of frames count as life, not as progress", async () => {
    const { modelAt } = await import("./wire-provider.ts");
    const effects = new FakeEffects();
    const { fetch, feed } = fedFetch();
    const result = start(modelAt("http://nowhere/v1", "chat", "bare", fetch), effects);
    let ended = false;
    void result.then(() => {
      ended = true;
    });
    let beats = 0;
    while (!ended && beats < 100) {
      beats += 1;
      feed(beats % 2 === 0 ? ": keep-alive\n\n" : ": half");
      for (let turn = 0; turn < 5; turn += 1) await settled();
      effects.advance(100_000);
      for (let turn = 0; turn < 5; turn += 1) await settled();
    }
    assert.match((await result).failure?.message ?? "", /no progress for 600 s/);
    assert.equal(beats, 6);
  });
});
