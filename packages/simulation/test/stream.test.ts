import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { AnswerStream } from "../src/stream.ts";
import { settled } from "../src/world.ts";

/** What feeds a stream and what reads it, one step at a time. */
const steps = ["pulled", "enqueue", "close", "error", "lock", "read", "cancel", "cancel unlocked", "release"] as const;
type Step = (typeof steps)[number];

interface Fed {
  stream: ReadableStream<number>;
  enqueue(chunk: number): void;
  close(): void;
  error(reason: unknown): void;
  /** What the pull under way had to do is done. */
  pulled(): void;
}

function platform(pull: () => void): Fed {
  let controller: ReadableStreamDefaultController<number> | undefined;
  let done = (): void => {};
  const stream = new ReadableStream<number>({
    start(given) {
      controller = given;
    },
    pull: () =>
      new Promise<void>((resolve) => {
        done = resolve;
        pull();
      }),
  });
  return {
    stream,
    enqueue: (chunk) => controller?.enqueue(chunk),
    close: () => controller?.close(),
    error: (reason) => controller?.error(reason),
    pulled: () => done(),
  };
}

function ours(pull: () => void): Fed {
  const stream = new AnswerStream<number>(pull);
  return {
    stream: stream.readable,
    enqueue: (chunk) => stream.enqueue(chunk),
    close: () => stream.close(),
    error: (reason) => stream.error(reason),
    pulled: () => stream.pulled(),
  };
}

/** All that both sides see, in order. Between steps everything settles that can. */
async function seen(make: (pull: () => void) => Fed, played: readonly Step[]): Promise<string[]> {
  const told: string[] = [];
  let pulling = false;
  const fed = make(() => {
    pulling = true;
    told.push("pull");
  });
  let reader: ReadableStreamDefaultReader<number> | undefined;
  const watch = (what: string, promise: Promise<unknown> | undefined) =>
    void promise?.then(
      (value) => told.push(`${what}: ${inspect(value, { sorted: true })}`),
      (reason: unknown) => told.push(`${what}: ${reason instanceof TypeError ? "TypeError" : String(reason)}`),
    );
  const does: Record<Step, (at: number) => void> = {
    pulled: () => {
      if (pulling) fed.pulled();
      pulling = false;
    },
    enqueue: (at) => fed.enqueue(at),
    close: () => fed.close(),
    error: (at) => fed.error(`error ${at}`),
    lock: () => {
      reader = fed.stream.getReader();
    },
    read: (at) => watch(`read ${at}`, reader?.read()),
    cancel: (at) => watch(`cancel ${at}`, reader?.cancel()),
    "cancel unlocked": (at) => watch(`cancel unlocked ${at}`, fed.stream.cancel()),
    release: () => reader?.releaseLock(),
  };
  await settled();
  for (const [at, step] of played.entries()) {
    told.push(step);
    try {
      does[step](at);
    } catch (error) {
      told.push(error instanceof TypeError ? "refused" : String(error));
    }
    await settled();
  }
  return told;
}

test("whoever feeds or reads an answer sees what they would see of the platform's stream", async () => {
  const often = fc.oneof(fc.constantFrom(...steps), fc.constantFrom("enqueue", "read", "pulled"));
  await fc.assert(
    fc.asyncProperty(fc.array(often, { maxLength: 40 }), async (drawn) => {
      const played: Step[] = ["lock", ...drawn];
      assert.deepEqual(await seen(ours, played), await seen(platform, played));
    }),
    { numRuns: 1_000 },
  );
});
