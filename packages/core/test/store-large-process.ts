/**
 * A process for store-large.test.ts, started with little memory: `node --max-old-space-size=N ... DIR`. Lists every
 * session, reads the end of the long one, reads all of it, and drives it on. One JSON line.
 */
import { nodeEffects } from "../src/node/effects.ts";
import { isAlive, thisHolder } from "../src/node/holder.ts";
import { pages } from "../src/store/pages.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { TestDriver } from "../src/testing/store-world.ts";

const store = await sqliteStore({ dir: process.argv[2] ?? "", ...nodeEffects(), isAlive });
let listed = 0;
for (let page = await store.list(); page.length > 0; ) {
  listed += page.length;
  const last = page.at(-1);
  page = last ? await store.list({ cursor: { updatedAt: last.updatedAt, session: last.session } }) : [];
}
const tail = (await store.readTail("long", { limit: 3 })).length;
let entries = 0;
let chars = 0;
for await (const page of pages(store, "long")) {
  entries += page.entries.length;
  for (const { event } of page.entries) if (event.type === "note.recorded") chars += event.text.length;
}
const driver = await TestDriver.take(store, "long", thisHolder());
await driver.append("goes on");
await store.close();
process.stdout.write(JSON.stringify({ listed, tail, entries, chars }));
