/** A real PgBouncer in transaction mode, where there is one: each transaction gets any connection. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort, type PostgresServer } from "./server.ts";

/** Where Debian puts it is on nobody's path but root's. */
const program = ["pgbouncer", "/usr/sbin/pgbouncer"].find((path) => spawnSync(path, ["--version"]).status === 0);

export const noPooler = program === undefined ? "there is no pgbouncer here" : false;

export interface Pooler {
  port: number;
  end(): Promise<void>;
}

export async function startPooler(server: PostgresServer): Promise<Pooler> {
  assert.ok(program !== undefined, String(noPooler));
  const folder = await mkdtemp(join(tmpdir(), "pawl-pooler-"));
  const port = await freePort();
  const child = await spawnPooler(program, folder, port, server.port);
  return {
    port,
    async end() {
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

async function spawnPooler(path: string, folder: string, port: number, to: number): Promise<ChildProcess> {
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
