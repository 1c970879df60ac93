/**
 * Many sessions that live for one turn each: 200 deltas, one tool call, one word more. What the E rows do with them.
 */
import { drainChat } from "./bare.ts";
import { chatModel } from "./model.ts";

const deltas = 200;
/** Of the text before the tool and the word after it; deltas may have been joined. */
const leastHeard = 2;

/** Runs the n-th session of a case to its end. */
export type Live = (onDelta: () => void) => Promise<void>;

export async function bareCrowd<T>(work: (live: Live) => Promise<T>): Promise<T> {
  const model = chatModel(deltas);
  return work((onDelta) => drainChat(model, onDelta));
}

export async function ourCrowd<T>(dir: string, work: (live: Live) => Promise<T>): Promise<T> {
  const { chatTurn, withRuntime } = await import("./durable.ts");
  const model = chatModel(deltas);
  return withRuntime(dir, (runtime) => work((onDelta) => chatTurn(runtime, model, onDelta)));
}

/** Starts all at once. `onDelta` hears of all of them. */
export async function together(live: Live, sessions: number, onDelta: () => void = () => {}): Promise<void> {
  await Promise.all(Array.from({ length: sessions }, () => heard(live, onDelta)));
}

export async function oneByOne(live: Live, sessions: number): Promise<void> {
  for (let n = 0; n < sessions; n += 1) await heard(live, () => {});
}

async function heard(live: Live, onDelta: () => void): Promise<void> {
  let count = 0;
  await live(() => {
    count += 1;
    onDelta();
  });
  if (count < leastHeard) throw new Error(`a session's subscriber heard ${count} deltas`);
}
