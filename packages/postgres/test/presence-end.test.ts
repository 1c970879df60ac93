/** What is left of a presence that has ended: nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeEffects } from "@pawl/core/testing";
import type { Database } from "../src/database.ts";
import { Link } from "../src/link.ts";
import { Presence } from "../src/presence.ts";

for (const held of [true, false])
  test(`on a server that has just started (beacon ${held ? "lit" : "not yet lit"}): no timer keeps the process`, async () => {
    const { timers } = new FakeEffects();
    let waiting = 0;
    const counted = {
      after(ms: number, fn: () => void) {
        const cancel = timers.after(ms, fn);
        waiting += 1;
        return () => {
          waiting -= 1;
          cancel();
        };
      },
    };
    const database: Database = {
      ask: async () => ({ rows: [], count: 0 }),
      transaction: () => Promise.reject(new Error("there are none here")),
      reserve: async () => ({ query: async () => [{ held, young: true }], release: async () => {} }),
      spare: false,
      lockMs: 1,
      close: async () => {},
    };
    const events = { onNotice: () => {}, onConnected: () => {}, onMarked: () => {} };
    const presence = new Presence(new Link(database, "pawl", counted, 0), counted, "pawl", events);
    await presence.open();
    assert.equal(waiting, 2);
    await presence.end();
    assert.equal(waiting, 0);
  });
