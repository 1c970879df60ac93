/** A watcher in another process, with what it has been told so far, and a model that takes its time. */
import assert from "node:assert/strict";
import type { ScriptStep } from "../src/testing/model.ts";
import type { Session } from "../src/turn/session.ts";
import type { LiveItem } from "../src/view/live.ts";
import { emptyTranscript, readItem, type Transcript } from "../src/view/transcript.ts";
import type { TurnWorld } from "./turn-world.ts";

export interface WatchGround {
  world(): Promise<TurnWorld>;
  /** Of so many cases one is played: where a store is slow, a sample; default all. */
  oneOf?: number;
}

export class Watching {
  readonly items: LiveItem[] = [];
  /** What a person would see who had read everything up to `after` before. */
  readonly transcript: Transcript;
  /** By part, all its words as they were told. */
  readonly words = new Map<string, string>();
  readonly ended: Promise<void>;
  readonly #end = new AbortController();

  /** `screen`: what is still shown of an earlier watch that came up to `after`. */
  constructor(session: Session, after = 0, screen?: Transcript) {
    this.transcript = screen ?? emptyTranscript();
    this.ended = this.#watch(session, screen ? 0 : after, after);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.ended;
  }

  get seqs(): number[] {
    return this.items.flatMap((item) => (item.type === "entry" ? [item.entry.seq] : []));
  }

  /** In short: facts by type, words as they are. */
  get told(): string[] {
    return this.items.map((item) => {
      if (item.type === "entry") return item.entry.event.type;
      if (item.type === "part.delta") return `"${item.text}"`;
      if (item.type === "part.started") return `${item.kind}${item.tool === undefined ? "" : ` ${item.tool}`}`;
      return item.type;
    });
  }

  async #watch(session: Session, read: number, after: number): Promise<void> {
    for (const entry of await session.entries()) {
      if (entry.seq <= read) readItem(this.transcript, { type: "entry", entry });
    }
    for await (const item of session.watch({ after, signal: this.#end.signal })) {
      this.items.push(item);
      readItem(this.transcript, item);
      if (item.type === "part.started") {
        assert.ok(!this.words.has(item.part), `${item.part} starts twice`);
        this.words.set(item.part, "");
      }
      if (item.type === "part.delta") this.words.set(item.part, (this.words.get(item.part) ?? "?") + item.text);
    }
  }
}

/** A pause of the stream in the world's own time. Begun when the stream comes to it. */
export function pause({ effects }: TurnWorld, ms: number): ScriptStep {
  // biome-ignore lint/suspicious/noThenProperty: a promise that begins when somebody awaits it
  const until = { then: (resolve: () => void) => void effects.timers.after(ms, resolve) };
  return { until: until as unknown as Promise<void> };
}

/** Words with a pause before each. */
export function slowly(world: TurnWorld, words: string, ms: number, id = "1"): ScriptStep[] {
  return [
    { type: "text-start", id },
    ...words.split(/(?= )/).flatMap((delta): ScriptStep[] => [pause(world, ms), { type: "text-delta", id, delta }]),
    pause(world, ms),
    { type: "text-end", id },
  ];
}

/** Lets so much time pass in small pieces, with all that follows from it. */
export async function pass({ effects }: TurnWorld, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    effects.advance(Math.min(50, left));
    await effects.settle();
  }
  await effects.settle();
}
