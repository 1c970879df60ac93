/**
 * A process for store-takeover.test.ts: drives a session until it has appended `count` records of its own, each said
 * after its acknowledgement. It waits for the lease as long as another driver's counts, says `FENCED` when it was taken
 * over and goes on under a new lease, says `busy` when another process keeps the file locked. Before record `pauseAt` it
 * says `pause` and waits for a line.
 */
import { once } from "node:events";
import { isPawlError } from "../src/error.ts";
import { nodeEffects } from "../src/node/effects.ts";
import { isAlive, thisHolder } from "../src/node/holder.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { TestDriver } from "../src/testing/store-world.ts";

const [dir = "", name = "", count = "0", pauseAt = "-1"] = process.argv.slice(2);
const ttlMs = 300;
const session = "s";

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}

/** What another process locks is tried again: nothing of it was written. */
async function through<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isPawlError(error, "STORE_UNAVAILABLE")) throw error;
      say("busy");
    }
  }
}

const store = await through(() => sqliteStore({ dir, ...nodeEffects(), isAlive, busyMs: 100 }));

async function take(): Promise<TestDriver> {
  for (;;) {
    // Looking locks nothing.
    while ((await store.get(session))?.lease);
    const answer = await through(() => store.acquireLease(session, thisHolder(), ttlMs));
    if (answer.granted) return new TestDriver(store, session, thisHolder(), answer.epoch, answer.seq);
  }
}

let driver = await take();
let paused = false;
for (let index = 0; index < Number(count); index += 1) {
  if (index === Number(pauseAt) && !paused) {
    paused = true;
    say("pause");
    await once(process.stdin, "data");
  }
  try {
    await through(() => driver.append(`${name}-${index}`));
    say(`${name}-${index}`);
  } catch (error) {
    if (!isPawlError(error, "FENCED")) throw error;
    say("FENCED");
    driver = await take();
    index -= 1;
  }
}
await through(() => store.releaseLease(session, driver.epoch));
await store.close();
process.stdin.destroy();
