/**
 * Every fault at every boundary of an answer, over real sockets, through the whole runtime: the person reads the answer
 * once, the tool runs once, every request is in the books.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entry, type ModelServer, PROTOCOLS, type Protocol, type Step } from "@pawl/model-server";
import { transcriptOf } from "../src/index.ts";
import type { Action } from "../src/log/value.ts";
import { type Edge, serving } from "./wire-provider.ts";
import { assertSound, eventsOf, type Heard, run, type World, worldOf } from "./wire-runtime.ts";

interface Boundary {
  steps: Step[];
  /** What recovery does there, whatever the fault. */
  action: Action;
  /** What is read last before the fault, so that it can be ordered behind it. */
  heard?: Heard;
}

const boundaries: Record<string, Boundary> = {
  "before headers": { steps: [], action: "retry" },
  "after headers": { steps: [{ headers: true }], action: "retry" },
  "in reasoning": {
    steps: [{ reason: "First I look around.", chunks: 2, upTo: 1 }],
    action: "seal",
    heard: "reasoning",
  },
  "after reasoning": { steps: [{ reason: "First I look around." }], action: "seal", heard: "reasoning" },
  "in text": {
    steps: [{ reason: "Hm." }, { text: "Each sentence once. Really.", chunks: 2, upTo: 1 }],
    action: "discard",
    heard: "text",
  },
  "in tool input": {
    steps: [{ text: "Each sentence once." }, { call: "write", input: { path: "wrong" }, split: [4], upTo: 1 }],
    action: "discard",
    heard: "tool-call",
  },
  "after a complete call": {
    steps: [{ call: "write", input: { path: "wrong" } }],
    action: "discard",
    heard: "tool-call",
  },
};

const faults: Record<string, Step[]> = {
  "a reset": [{ hold: "heard" }, { reset: true }],
  silence: [{ hold: "silence" }],
  "an error frame": [{ error: { type: "overloaded_error", message: "Overloaded" } }],
  "a clean end": [{ end: true }],
};

const good: Entry[] = [
  [{ reason: "Now I know." }, { text: "I write it." }, { call: "write", input: { path: "right" } }],
  [{ text: "Each sentence once." }],
];

const edges: Edge[] = ["watched", "bare"];

for (const protocol of PROTOCOLS) {
  for (const edge of edges) {
    describe(`L5: every fault at every boundary (${protocol}, ${edge})`, () => {
      for (const [where, boundary] of Object.entries(boundaries)) {
        for (const [what, fault] of Object.entries(faults)) {
          it(`${what} ${where}`, () => breaksAndRecovers(protocol, edge, boundary, fault));
        }
      }
    });
  }
}

async function breaksAndRecovers(
  protocol: Protocol,
  edge: Edge,
  { steps, action, heard }: Boundary,
  fault: Step[],
): Promise<void> {
  await serving({ script: [[...steps, ...fault], ...good] }, async (server) => {
    const world = await worldOf(server, protocol, edge);
    const reading = Promise.withResolvers<void>();
    if (!heard) reading.resolve();
    void fireFaults(server, world, reading.promise);
    const { result, entries } = await run(world, (kind) => kind === heard && reading.resolve());

    assert.deepEqual(
      [result.outcome, result.text],
      [{ type: "completed" }, "Each sentence once."],
      JSON.stringify(result),
    );
    assert.deepEqual(world.entered, ['write {"path":"right"}']);
    assert.equal(server.requests.length, 3);
    assertSound(server, result, entries);
    const [lost] = eventsOf(entries, "attempt.ended");
    assert.equal(lost?.decision?.action, action, JSON.stringify(lost));
    assert.equal(result.books.committed.attempts, 2);
    assertReadOnce(entries, action);
  });
}

/** Lets the fault come when what was sent before it has been read. */
async function fireFaults(server: ModelServer, world: World | undefined, read: Promise<void>): Promise<void> {
  void read.then(() => server.release("heard"));
  await server.held("silence");
  await read;
  world?.effects.passSilence();
}

/** What a person sees: the lost attempt is a labelled fragment or nothing, the answer is there once. */
function assertReadOnce(entries: Parameters<typeof transcriptOf>[0], action: Action): void {
  const messages = [...transcriptOf(entries).items].filter((item) => item.type === "message");
  const [lost, ...kept] = messages;
  assert.deepEqual(
    kept.map(({ state }) => state),
    ["committed", "committed"],
  );
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
  assert.deepEqual(texts, ["I write it.", "Each sentence once."]);
  if (action === "seal")
    assert.deepEqual([lost?.state, lost?.parts.map(({ type }) => type)], ["sealed", ["reasoning"]]);
  else assert.deepEqual([lost?.state, lost?.parts], ["discarded", []]);
}

describe("behind the terminal frame", () => {
  const whole: Entry = [{ text: "I write it." }, { call: "write", input: { path: "right" } }];
  for (const protocol of PROTOCOLS) {
    for (const edge of edges) {
      for (const [what, fault] of Object.entries(faults)) {
        it(`${what} after finish loses nothing that was whole (${protocol}, ${edge})`, async () => {
          // What `finish` sends is the terminal frame of the others; on this protocol `message_stop` comes behind it.
          const kept = protocol !== "anthropic";
          const script: Entry[] = [
            [...whole, { finish: "tool-calls" }, ...fault],
            ...(kept ? [] : [whole]),
            [{ text: "Each sentence once." }],
          ];
          await serving({ script }, async (server) => {
            const world = await worldOf(server, protocol, edge);
            const reading = Promise.withResolvers<void>();
            // A whole answer must not need the watchdog.
            void fireFaults(server, kept ? undefined : world, reading.promise);
            const { result, entries } = await run(world, (kind) => kind === "tool-call" && reading.resolve());
            assert.deepEqual(
              [result.outcome, result.text],
              [{ type: "completed" }, "Each sentence once."],
              JSON.stringify(result.failure),
            );
            assert.deepEqual(world.entered, ['write {"path":"right"}']);
            assert.equal(server.requests.length, script.length);
            assertSound(server, result, entries);
          });
        });
      }
    }
  }
});
