/** The store contract on a real PostgreSQL: by URL, through a pool of `pg`, and as behind a transaction pooler. */
import { after } from "node:test";
import { storeContract } from "@pawl/core/testing";
import pg from "pg";
import { type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
after(() => server.end());

function contract(
  name: string,
  more: (url: string) => Partial<PostgresStoreOptions> & { end?(): Promise<void> },
): void {
  storeContract(name, async ({ clock, isAlive }) => {
    // Real timers: what waits for the server must not be hurried by a clock that tests push forward.
    const { end = async () => {}, ...way } = more(server.url("postgres"));
    const options = { clock, isAlive, schema: server.schema(), ...way };
    let store = await postgresStore(options);
    const first = store;
    const reopen = async () => {
      await store.close();
      store = await postgresStore(options);
      return store;
    };
    const close = async () => {
      await store.close();
      await end();
    };
    return { store: first, reopen, close };
  });
}

contract("postgres", (url) => ({ url, connections: 4 }));
contract("postgres, behind a transaction pooler", (url) => ({ url, connections: 4, mode: "pooled" }));
contract("postgres, through a pool of pg", (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  // As every program does that has a pool: of a connection that breaks while nobody uses it.
  pool.on("error", () => {});
  return { pool, end: () => pool.end() };
});
