/** A stretch of network between the store and its server, which a test may cut, silence, slow down or lead elsewhere. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** One connection of the client. */
export interface Line {
  /** What the server answers next gets lost, and the connection with it. */
  loseAnswer(): void;
  /** Broken at once, by a reset, towards both sides. */
  reset(): void;
  /** As if the server had said it. */
  say(bytes: Buffer): void;
  /** The client hears of a break; what it sent is under way still. Arrives, and is carried out, when the returned function says so. */
  delay(bytes: Buffer): () => void;
}

/** How long a piece takes on its way, ms, and how many bytes may pass in a second; both for each direction. */
export interface Pace {
  delayMs(): number;
  bytesPerSecond?: number;
}

export class Network {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  /** Bytes of the client, before they are handed on. Where it says `drop` they are not. */
  onRequest: (bytes: Buffer, line: Line) => unknown = () => {};
  /** Bytes of the server, before they are handed on: those that it returns, where it returns some. */
  onAnswer: (bytes: Buffer, line: Line) => Buffer | undefined = () => undefined;
  pace: Pace | undefined;
  /** Lines made so far, and bytes that clients sent. */
  lines = 0;
  sent = 0;
  #gate: { promise: Promise<void>; open(): void } | undefined;
  /** Lines up to this one stay mute for ever: nobody is told, nothing passes. */
  #forsaken = 0;

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
    this.lines += 1;
    const number = this.lines;
    const server = connect(this.#target, "127.0.0.1");
    const reset = () => {
      client.resetAndDestroy();
      server.resetAndDestroy();
    };
    let delays = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        if (number <= this.#forsaken || delays) return;
        client.destroy();
        server.destroy();
      });
    }
    let loses = false;
    const line: Line = {
      loseAnswer: () => {
        loses = true;
      },
      reset,
      say: (bytes) => void client.write(bytes),
      delay: (bytes) => {
        delays = true;
        client.resetAndDestroy();
        return () => void server.write(bytes);
      },
    };
    this.#carry(number, client, server, (bytes) => {
      this.sent += bytes.length;
      return this.onRequest(bytes, line) === "drop" ? undefined : bytes;
    });
    this.#carry(number, server, client, (bytes) => {
      if (loses) {
        client.destroy();
        return undefined;
      }
      return this.onAnswer(bytes, line) ?? bytes;
    });
  }

  /** In order, each piece after its delay and behind the gate. What is under way is held back in bounds, as a network does. */
  #carry(number: number, from: Socket, to: Socket, look: (bytes: Buffer) => Buffer | undefined): void {
    let tail: Promise<void> = Promise.resolve();
    let under = 0;
    from.on("data", (bytes) => {
      if (number <= this.#forsaken) return;
      const piece = look(bytes);
      if (!piece) return;
      if (!this.pace && !this.#gate && under === 0) return void to.write(piece);
      under += piece.length;
      if (under > window) from.pause();
      const travelled = this.#travel(piece.length);
      tail = tail.then(async () => {
        await travelled;
        while (this.#gate) await this.#gate.promise;
        under -= piece.length;
        if (under <= window) from.resume();
        if (number > this.#forsaken && !to.destroyed) to.write(piece);
      });
    });
  }

  #free = 0;

  async #travel(bytes: number): Promise<void> {
    if (!this.pace) return;
    const now = performance.now();
    const { delayMs, bytesPerSecond } = this.pace;
    if (bytesPerSecond) this.#free = Math.max(this.#free, now) + (bytes / bytesPerSecond) * 1_000;
    const ms = delayMs() + (bytesPerSecond ? this.#free - now : 0);
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** Nothing passes until the end of it is called: then everything does, in order. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = {
      promise,
      open: () => {
        this.#gate = undefined;
        resolve();
      },
    };
    return this.#gate.open;
  }

  /** The lines that stand are dead, and nobody is told. New ones work. */
  forsake(): void {
    this.#forsaken = this.lines;
  }

  /** New lines lead elsewhere. */
  lead(port: number): void {
    this.#target = port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#gate?.open();
    this.#forsaken = 0;
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** As much as a connection's buffers on the way take. */
const window = 64 * 1024;
