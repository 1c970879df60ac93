import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Feed, type Subscription } from "../src/view/feed.ts";
import type { LiveItem } from "../src/view/live.ts";
import { logOf, turnOf } from "./log-builder.ts";

async function drained(subscription: Subscription): Promise<LiveItem[]> {
  const items: LiveItem[] = [];
  for await (const item of subscription) items.push(item);
  return items;
}

const entries = logOf(turnOf(1));

describe("feed", () => {
  test("whoever reads late reads all: facts whole and in order, words joined, of progress the last", async () => {
    const feed = new Feed();
    const slow = feed.subscribe();
    feed.delta("a1", "a1-1", "text", "one ");
    feed.delta("a1", "a1-1", "text", "two ");
    feed.push({ type: "tool.progress", call: "c", data: 1 });
    feed.delta("a1", "a1-2", "text", "three");
    feed.push({ type: "tool.progress", call: "c", data: 2 });
    for (const entry of entries) feed.push({ type: "entry", entry });
    feed.delta("a1", "a1-2", "text", " four");
    feed.end();
    const items = await drained(slow);
    const facts = items.flatMap((item) => (item.type === "entry" ? [item.entry] : []));
    assert.deepEqual(facts, entries);
    assert.deepEqual(
      items.flatMap((item) => (item.type === "part.delta" ? [item.text] : [])),
      ["one two ", "three", " four"],
    );
    assert.deepEqual(
      items.flatMap((item) => (item.type === "tool.progress" ? [item.data] : [])),
      [2],
    );
  });

  test("whatever the order of telling and reading, no word and no fact is lost or told twice", async () => {
    const step = fc.oneof(
      fc.constantFrom("read" as const, "fact" as const),
      fc.record({ part: fc.constantFrom("p", "q"), text: fc.string({ minLength: 1, maxLength: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const feed = new Feed();
        const reader = feed.subscribe();
        const other = feed.subscribe();
        const reads: Promise<IteratorResult<LiveItem>>[] = [];
        let told = "";
        let facts = 0;
        for (const one of steps) {
          if (one === "read") reads.push(reader.next());
          else if (one === "fact") feed.push({ type: "warning", text: String(facts++) });
          else {
            feed.delta("a", one.part, "text", one.text);
            told += one.text;
          }
        }
        feed.end();
        const first = (await Promise.all(reads)).flatMap(({ done, value }) => (done ? [] : [value]));
        for (const items of [[...first, ...(await drained(reader))], await drained(other)]) {
          const heard = items.map((item) => (item.type === "part.delta" ? item.text : "")).join("");
          assert.equal(heard, told);
          assert.deepEqual(
            items.flatMap((item) => (item.type === "warning" ? [Number(item.text)] : [])),
            [...Array(facts).keys()],
          );
        }
      }),
    );
  });

  test("a reader that leaves is forgotten, one that comes after the end hears that it is over", async () => {
    const feed = new Feed();
    const leaving = feed.subscribe();
    const waiting = leaving.next();
    await leaving.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    feed.push({ type: "warning", text: "nobody hears" });
    assert.deepEqual(await drained(leaving), []);
    feed.end();
    assert.deepEqual(await drained(feed.subscribe()), []);
  });
});
