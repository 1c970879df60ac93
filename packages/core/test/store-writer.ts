/**
 * A process for store-sqlite-process.test.ts: appends `count` records to a session and prints each after its
 * acknowledgement. `lease`: makes the session and keeps its lease. `contend`: takes the lease from whoever holds it, as
 * if that holder were dead, before each append. It never closes the store: the process must end all the same.
 */
import { isPawlError } from "../src/error.ts";
import { nodeEffects } from "../src/node/effects.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { createSession, notes, TestDriver } from "../src/testing/store-world.ts";

const [dir = "", session = "", mode = "", count = "0"] = process.argv.slice(2);
const store = await sqliteStore({ dir, ...nodeEffects(), isAlive: () => mode !== "contend" });
const holder = { id: `writer-${process.pid}`, host: "here", boot: "1", pid: process.pid, start: "1" };

/** Refused means not written: the same text is tried until it is in. */
async function contend(text: string): Promise<void> {
  for (;;) {
    const lease = await store.acquireLease(session, holder, 60_000);
    if (!lease.granted) continue;
    const { epoch, seq } = lease;
    try {
      return await store.append({ session, epoch, expectedSeq: seq, records: notes(session, epoch, seq, text) });
    } catch (error) {
      if (!isPawlError(error, "FENCED")) throw error;
    }
  }
}

if (mode === "lease") await createSession(store, session);
const driver = mode === "lease" ? await TestDriver.take(store, session, holder, 60_000) : undefined;
for (let index = 0; index < Number(count); index += 1) {
  const text = mode === "lease" ? `${index}` : `${process.pid}-${index}`;
  if (driver) await driver.append(text);
  else await contend(text);
  process.stdout.write(`${text}\n`);
}
