import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Desk, type Manners } from "./desk.ts";
import { parseScript } from "./grammar.ts";
import type { Issued } from "./issued.ts";
import type { ScriptFunction } from "./prompter.ts";
import type { Protocol } from "./protocol/protocol.ts";
import type { RecordedRequest } from "./record.ts";
import type { Script } from "./script.ts";

export interface ModelServerOptions extends Manners {
  readonly script: Script | ScriptFunction;
  /** Default 0: a free port. */
  readonly port?: number;
}

export interface ModelServer {
  readonly url: string;
  /** The base URL that a provider package of the protocol wants. */
  baseUrl(protocol: Protocol): string;
  /** Every request to one of the three endpoints, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** The next request that no earlier call of this got. Rejects at close. */
  nextRequest(): Promise<RecordedRequest>;
  /** Lets the `hold` step of this name go on; before it is reached, too. */
  release(name: string): void;
  /** Resolves when a response has reached the `hold` step of this name. */
  held(name: string): Promise<void>;
  /** Connections accepted since the start. */
  readonly socketCount: number;
  /** What was handed out: pass it to `judge` to check signatures outside of the server. */
  readonly issued: Issued;
  /** Ends everything, silent connections too. */
  close(): Promise<void>;
}

/**
 * Starts a model endpoint on 127.0.0.1 that plays a script. Throws a `ScriptError` when the script is none.
 *
 * @example
 * const server = await startModelServer({ script: [[{ text: "Hello." }]] });
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { script } = options;
  const desk = new Desk(typeof script === "function" ? script : parseScript(script), options);
  const http = createServer((request, response) => {
    desk.answer(request, response).catch((error: unknown) => desk.fail(response, error));
  });
  // An idle connection is left open: only the script breaks connections, or a client would meet faults it never asked for.
  http.keepAliveTimeout = 0;
  let sockets = 0;
  http.on("connection", (socket) => {
    sockets += 1;
    socket.setNoDelay(true);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  http.once("error", reject);
  http.listen(options.port ?? 0, "127.0.0.1", resolve);
  await promise;
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    baseUrl: () => `${url}/v1`,
    requests: desk.recorder.requests,
    nextRequest: () => desk.recorder.next(),
    release: (name) => desk.gates.release(name),
    held: (name) => desk.gates.reached(name),
    get socketCount() {
      return sockets;
    },
    issued: desk.issued,
    async close() {
      desk.close();
      const closed = Promise.withResolvers<void>();
      http.close(() => closed.resolve());
      http.closeAllConnections();
      await closed.promise;
    },
  };
}
