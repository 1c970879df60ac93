/** A recovered model over real sockets: three protocols, with our edge of the wire and without. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entry, PROTOCOLS, type Step } from "@pawl/model-server";
import type { AttemptReport } from "../src/attempt/recovered-call.ts";
import { type RecoverOptions, recover } from "../src/attempt/recovering.ts";
import { assertOneEnd, consume, failedWith, type Got, type StreamPart, wordsOf } from "./recovering-world.ts";
import { type Edge, modelOf, serving } from "./wire-provider.ts";
import { WireEffects } from "./wire-runtime.ts";

/** The one deadline that these worlds can let pass. */
const watch = { firstMs: 3_331, silenceMs: 3_331, progressMs: 0 };
const good: Step[] = [{ reason: "So it is." }, { text: "All of it." }];

interface Fault {
  entry: Entry;
  /** What the consumer hears before the server goes on; nothing where it is given nothing. */
  heard?: "text" | "reasoning";
  options?: RecoverOptions;
  silent?: true;
  expect: "good" | "failed";
}

const faults: Record<string, Fault> = {
  "a reset before any header": { entry: [{ reset: true }], expect: "good" },
  "a 429 with a wait": { entry: { status: 429, headers: { "retry-after-ms": "5" } }, expect: "good" },
  "an empty 200": { entry: [{ end: true }], expect: "good" },
  "an error frame at once": {
    entry: [{ start: true }, { error: { type: "overloaded_error", message: "busy" } }],
    expect: "good",
  },
  "a reset in a thought that is held": {
    entry: [{ reason: "Let me see", chunks: 2, upTo: 1 }, { hold: "cut" }, { reset: true }],
    expect: "good",
  },
  "a reset in a thought that is shown": {
    entry: [{ reason: "Let me see", chunks: 2, upTo: 1 }, { hold: "cut" }, { reset: true }],
    heard: "reasoning",
    options: { reasoning: "show" },
    expect: "good",
  },
  "an end behind a whole thought that is shown": {
    entry: [{ reason: "Let me see", signature: "sig" }, { hold: "cut" }, { end: true }],
    heard: "reasoning",
    options: { reasoning: "show" },
    expect: "good",
  },
  "silence before anything": { entry: [{ start: true }, { silence: true }], silent: true, expect: "good" },
  "a reset in a sentence": {
    entry: [{ text: "All of", chunks: 2, upTo: 1 }, { hold: "cut" }, { reset: true }],
    heard: "text",
    expect: "failed",
  },
  "a clean end in a sentence": {
    entry: [{ text: "All of", chunks: 2, upTo: 1 }, { end: true }],
    expect: "failed",
  },
  "an error frame in a sentence": {
    entry: [{ text: "All of", chunks: 2, upTo: 1 }, { error: { type: "overloaded_error", message: "busy" } }],
    expect: "failed",
  },
  "a reset in a sentence of an answer that is held back": {
    entry: [{ text: "All of", chunks: 2, upTo: 1 }, { hold: "cut" }, { reset: true }],
    options: { buffer: "answer" },
    expect: "good",
  },
};

const kinds = { text: "text-delta", reasoning: "reasoning-delta" };

function assertSealed(parts: StreamPart[]): void {
  const started = parts.flatMap((part) => (part.type === "reasoning-start" ? [part.id] : []));
  assert.equal(started.length, 2, "the sealed thought and the good one");
  assert.equal(new Set(started).size, 2, "under two ids");
  const first = parts.filter((part) => "id" in part && part.id === started[0]);
  assert.ok(
    first.every((part) => !("providerMetadata" in part)),
    "no proof leaves with a sealed thought",
  );
  assert.equal(first.at(-1)?.type, "reasoning-end");
}

for (const protocol of PROTOCOLS) {
  describe(`a recovered model over ${protocol}`, () => {
    for (const edge of ["watched", "bare"] satisfies Edge[]) {
      for (const [what, { entry, heard, options, silent, expect }] of Object.entries(faults)) {
        it(`${what} (${edge})`, async () => {
          await serving({ script: [entry, good] }, async (server) => {
            const effects = new WireEffects();
            const reports: AttemptReport[] = [];
            const model = recover(modelOf(server, protocol, edge), {
              effects,
              watch,
              recovery: { backoff: { firstMs: 1, factor: 1, capMs: 1 } },
              onAttempt: (report) => reports.push(report),
              ...options,
            });
            const consuming: Promise<Got> = consume(model, {}, (part) => {
              if (heard && part.type === kinds[heard]) server.release("cut");
            });
            if (!heard && JSON.stringify(entry).includes('"hold"')) {
              await server.held("cut");
              server.release("cut");
            }
            if (silent) {
              await server.nextRequest();
              for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
              effects.passSilence();
            }
            const got = await consuming;
            assert.equal(assertOneEnd(got), expect, JSON.stringify(reports));
            assert.equal(server.requests.length, expect === "good" ? 2 : 1);
            assert.equal(reports.length, server.requests.length);
            if (expect === "failed") return assert.ok(failedWith(got).exposure.text);
            assert.equal(wordsOf(got.parts), "All of it.");
            if (options?.reasoning === "show") assertSealed(got.parts);
            else assert.equal(wordsOf(got.parts, "reasoning"), "So it is.");
          });
        });
      }
    }

    it("a stored answer whose thought was sealed is taken by the endpoint's rules", async () => {
      const lost: Entry = [{ reason: "Let me see", signature: "sig" }, { hold: "cut" }, { end: true }];
      await serving({ script: [lost, good, good] }, async (server) => {
        const effects = new WireEffects();
        const recovery = { backoff: { firstMs: 1, factor: 1, capMs: 1 } };
        const model = recover(modelOf(server, protocol), { effects, recovery, reasoning: "show" });
        const { parts } = await consume(model, {}, ({ type }) => {
          if (type === "reasoning-delta") server.release("cut");
        });
        const prompt = [
          { role: "user" as const, content: [{ type: "text" as const, text: "hello" }] },
          { role: "assistant" as const, content: storedOf(parts) },
          { role: "user" as const, content: [{ type: "text" as const, text: "and then?" }] },
        ];
        assert.equal(assertOneEnd(await consume(model, { prompt })), "good");
        assert.deepEqual(
          server.requests.map(({ verdict }) => verdict.violations),
          [[], [], []],
        );
      });
    });

    it("doGenerate sees a cut that a plain request would take for a network error, and asks again", async () => {
      await serving({ script: [[{ text: "All of", upTo: 1, chunks: 2 }, { end: true }], good] }, async (server) => {
        const effects = new WireEffects();
        const recovery = { backoff: { firstMs: 1, factor: 1, capMs: 1 } };
        const { content, finishReason } = await recover(modelOf(server, protocol), { effects, recovery }).doGenerate({
          prompt: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
        });
        assert.deepEqual(
          content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
          ["All of it."],
        );
        assert.equal(finishReason.unified, "stop");
      });
    });
  });
}

/** As the AI SDK stores it: the last metadata of a part stands. */
function storedOf(parts: readonly StreamPart[]) {
  const stored: {
    type: "text" | "reasoning";
    text: string;
    providerOptions?: Record<string, Record<string, never>>;
  }[] = [];
  const open = new Map<string, (typeof stored)[number]>();
  for (const part of parts) {
    const [, type, what] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
    if (!("id" in part) || !what) continue;
    const key = `${type} ${part.id}`;
    const target = open.get(key) ?? { type: type as "text" | "reasoning", text: "" };
    if (!open.has(key)) stored.push(target);
    open.set(key, target);
    if ("delta" in part) target.text += part.delta;
    if ("providerMetadata" in part && part.providerMetadata) target.providerOptions = part.providerMetadata as never;
  }
  return stored;
}
