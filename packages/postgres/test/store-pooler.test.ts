/** The store contract through a real PgBouncer. */
import { after, test } from "node:test";
import { storeContract } from "@pawl/core/testing";
import { postgresStore } from "../src/index.ts";
import { noPooler, startPooler } from "./pooler.ts";
import { PostgresServer } from "./server.ts";

if (noPooler) test("through PgBouncer", { skip: noPooler }, () => {});
else await throughPooler();

async function throughPooler(): Promise<void> {
  const server = await PostgresServer.start();
  const pooler = await startPooler(server);
  after(async () => {
    await pooler.end();
    await server.end();
  });
  storeContract("postgres, through PgBouncer", async ({ clock, isAlive }) => {
    const url = server.url("postgres", pooler.port);
    const options = { clock, isAlive, schema: server.schema(), url, connections: 4, mode: "pooled" as const };
    let store = await postgresStore(options);
    const first = store;
    const reopen = async () => {
      await store.close();
      store = await postgresStore(options);
      return store;
    };
    return { store: first, reopen, close: () => store.close() };
  });
}
