/**
 * Whether a worker lives and whether it takes work, over HTTP for whatever watches it.
 *
 * `/livez`: the process answers. `/readyz`: the store can be reached and nothing is being handed over. Says nothing of what
 * sessions hold, and by default speaks to this machine alone.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PawlError } from "@pawl/core";

export interface Readiness {
  draining: boolean;
  driving: number;
  places: number;
}

export interface HealthOptions {
  /** `[HOST:]PORT`; 0: a free one. */
  at: string;
  readiness(): Readiness;
  /** Rejects where the store does not answer. */
  askStore(): Promise<unknown>;
}

/** A probe gives up about then, and a store that takes longer is none to begin a turn on. */
const storeMs = 2_000;

export class Health {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server) {
    this.#server = server;
    const { address, port, family } = server.address() as AddressInfo;
    this.url = `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  /** Fails with INVALID_INPUT for a word that is no address, or one that cannot be had. */
  static async listen(options: HealthOptions): Promise<Health> {
    const { host, port } = placeOf(options.at);
    const server = createServer((request, response) => {
      void answer(request.url ?? "", options).then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
        response.end(request.method === "HEAD" ? undefined : `${JSON.stringify(body)}\n`);
      });
    });
    server.listen(port, host);
    await new Promise<void>((resolve, reject) => {
      server.once("listening", resolve);
      server.once("error", ({ message }) => {
        reject(new PawlError("INVALID_INPUT", `--health ${options.at}: ${message}; name another [HOST:]PORT`));
      });
    });
    return new Health(server);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function placeOf(at: string): { host: string; port: number } {
  const [, host = "127.0.0.1", port = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(at) ?? [];
  if (port === "" || Number(port) > 65_535)
    throw new PawlError("INVALID_INPUT", `--health ${at}: write [HOST:]PORT, for example 8080 or 0.0.0.0:8080`);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

async function answer(url: string, options: HealthOptions): Promise<{ status: number; body: object }> {
  const [path] = url.split("?");
  if (path === "/livez") return { status: 200, body: { live: true } };
  if (path !== "/readyz") return { status: 404, body: { error: "there are /livez and /readyz" } };
  const reached = await inTime(options.askStore());
  const state = options.readiness();
  const ready = reached && !state.draining;
  return { status: ready ? 200 : 503, body: { ready, store: reached ? "reached" : "away", ...state } };
}

async function inTime(asked: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), storeMs);
  const answered = asked.then(
    () => true,
    () => false,
  );
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
