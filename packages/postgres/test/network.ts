/** A stretch of network between the store and its server, which a test may cut, silence or slow down. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** One connection of the client. */
export interface Line {
  /** What the server answers next gets lost, and the connection with it. */
  loseAnswer(): void;
}

export class Network {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: number;
  /** Bytes of the client, before they are handed on. */
  onRequest: (bytes: Buffer, line: Line) => void = () => {};

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async to(port: number): Promise<Network> {
    const network = new Network(port);
    network.#server.listen(0, "127.0.0.1");
    await once(network.#server, "listening");
    return network;
  }

  get port(): number {
    const address = this.#server.address();
    assert.ok(address && typeof address === "object");
    return address.port;
  }

  #join(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    let loses = false;
    const loseAnswer = () => {
      loses = true;
    };
    client.on("data", (bytes) => {
      this.onRequest(bytes, { loseAnswer });
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (loses) client.destroy();
      else client.write(bytes);
    });
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
