/**
 * A process that watches one session: `URL SCHEMA MODE SESSION AFTER`. One line of JSON for each item: `fact` a seq and a type,
 * `word` a part and its text, `begun` a part. It ends with the session's turn.
 */
import { openSession } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";

const [url = "", schema = "", mode = "own", id = "", after = "0"] = process.argv.slice(2);
const store = await postgresStore({ url, schema, mode: mode as "own" | "pooled", connections: 2 });
const session = await openSession({ store, effects: nodeEffects(), holder: thisHolder() }, id);
const end = new AbortController();
const say = (what: unknown) => process.stdout.write(`${JSON.stringify(what)}\n`);
for await (const item of session.watch({ after: Number(after), signal: end.signal })) {
  if (item.type === "entry") say({ fact: item.entry.seq, type: item.entry.event.type });
  if (item.type === "part.started") say({ begun: item.part });
  if (item.type === "part.delta") say({ word: item.part, text: item.text });
  if (item.type === "entry" && item.entry.event.type === "turn.ended") end.abort();
}
await store.close();
