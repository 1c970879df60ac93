/** The store contract through a real PgBouncer in transaction mode, where there is one: each transaction gets any connection. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { storeContract } from "@pawl/core/testing";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

/** Where Debian puts it is on nobody's path but root's. */
const program = ["pgbouncer", "/usr/sbin/pgbouncer"].find((path) => spawnSync(path, ["--version"]).status === 0);

if (program === undefined) test("through PgBouncer", { skip: "there is no pgbouncer here" }, () => {});
else await throughPooler(program);

async function throughPooler(path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-pooler-"));
  const server = await PostgresServer.start();
  const port = await freePort();
  const pooler = await startPooler(path, folder, port, server.port);
  after(async () => {
    pooler.kill("SIGTERM");
    await once(pooler, "exit");
    await server.end();
    await rm(folder, { recursive: true });
  });
  storeContract("postgres, through PgBouncer", async ({ clock, isAlive }) => {
    const url = server.url("postgres", port);
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

async function startPooler(path: string, folder: string, port: number, to: number): Promise<ChildProcess> {
  const settings = [
    ...["[databases]", `postgres = host=127.0.0.1 port=${to} dbname=postgres`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir =", "auth_type = trust"],
    ...[`auth_file = ${join(folder, "users.txt")}`, "pool_mode = transaction", "default_pool_size = 5"],
  ];
  await writeFile(join(folder, "pooler.ini"), `${settings.join("\n")}\n`);
  await writeFile(join(folder, "users.txt"), '"postgres" ""\n');
  await chmod(folder, 0o755);
  // It does not run as root either.
  const who = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(path, [...who, join(folder, "pooler.ini")], { stdio: ["ignore", "ignore", "pipe"] });
  assert.ok(child.stderr);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on("line", (line) => line.includes("process up") && resolve());
  child.once("exit", (code) => reject(new Error(`pgbouncer ended with ${code}`)));
  await promise;
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address && typeof address === "object");
  server.close();
  await once(server, "close");
  return address.port;
}
