/** A real PgBouncer in transaction mode before a test's server, where one is installed: `apt-get install pgbouncer`. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort, identity } from "./server.ts";

/** Undefined where it is installed; else why nothing is tested through it. */
export const noBouncer =
  spawnSync("pgbouncer", ["--version"]).status === 0
    ? undefined
    : "pgbouncer is not installed here; `apt-get install pgbouncer` brings it";

export class Bouncer {
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #killAtExit = () => this.#child.kill("SIGKILL");

  private constructor(folder: string, child: ChildProcess, port: number) {
    this.#folder = folder;
    this.#child = child;
    this.#port = port;
    process.on("exit", this.#killAtExit);
  }

  /** `servers`: connections that all clients share. */
  static async before(serverPort: number, servers = 3): Promise<Bouncer> {
    const folder = mkdtempSync(join(tmpdir(), "pawl-bouncer-"));
    const port = await freePort();
    const settings = [
      "[databases]",
      `* = host=127.0.0.1 port=${serverPort}`,
      "[pgbouncer]",
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = trust\nauth_file = ${join(folder, "users")}`,
      `pool_mode = transaction\ndefault_pool_size = ${servers}\nmax_client_conn = 200`,
      "server_login_retry = 0",
    ];
    writeFileSync(join(folder, "ini"), settings.join("\n"));
    writeFileSync(join(folder, "users"), '"postgres" ""\n');
    if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
    const child = spawn("pgbouncer", [join(folder, "ini")], {
      ...identity,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const bouncer = new Bouncer(folder, child, port);
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      if (child.stderr)
        createInterface({ input: child.stderr }).on("line", (line) => {
          said.push(line);
          if (line.includes("process up")) resolve();
        });
      child.once("exit", () => reject(new Error(`pgbouncer ended: ${said.join("\n")}`)));
      child.once("error", reject);
    });
    return bouncer;
  }

  get port(): number {
    return this.#port;
  }

  async end(): Promise<void> {
    process.off("exit", this.#killAtExit);
    this.#child.kill("SIGTERM");
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
