/** Work that has been claimed is driven, whatever becomes of the search for more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Holder, PawlError } from "@pawl/core";
import type { Row } from "../src/database.ts";
import { type Granter, Leases } from "../src/lease.ts";

const holder: Holder = { id: "h", host: "here", boot: "b", pid: 1, start: "1" };
const dead = (id: string) => ({
  id,
  leased: 1,
  holder: JSON.stringify(holder),
  expires_at: 9,
  late: false,
  out: false,
});

/** Leases over a database that grants "one", finds `doubtful` held by the dead, and grants of those only "three". */
function leases(doubtful: () => readonly Row[]): Leases {
  const query = async (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
    if (text.includes("WITH picked")) return [{ id: "one", epoch: 1 }];
    if (text.includes("AS late")) return doubtful();
    return text.includes("RETURNING t.epoch, t.seq") && values.includes("three") ? [{ epoch: 3, seq: 1 }] : [];
  };
  const link = { query, run: <T>(attempt: (uncertain: boolean) => Promise<T>) => attempt(false) };
  const parts = { link, reader: {}, presence: { beacon: null, own: null }, now: () => null, isAlive: () => false };
  return new Leases(parts as unknown as Granter);
}

const claim = (of: Leases) => of.claim(holder, { limit: 5, ttlMs: 1_000 });

test("a session that is deleted while its dead holder is looked at costs no other claim", async () => {
  const claims = await claim(leases(() => [dead("deleted"), dead("three")]));
  assert.deepEqual(claims, [
    { session: "one", epoch: 1 },
    { session: "three", epoch: 3 },
  ]);
});

test("a server that goes away between the two looks takes back nothing that it granted", async () => {
  const away = () => {
    throw new PawlError("STORE_UNAVAILABLE", "it went away");
  };
  assert.deepEqual(await claim(leases(away)), [{ session: "one", epoch: 1 }]);
});
