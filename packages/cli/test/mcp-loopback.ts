/** Preloaded into a server of others: it listens on loopback, on a free port, and says which. */
import { Server } from "node:net";

const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;
Server.prototype.listen = function (this: Server, _port: unknown, ...rest: unknown[]) {
  this.once("listening", () => process.stderr.write(`listens on ${(this.address() as { port: number }).port}\n`));
  const called = rest.filter((each) => typeof each === "function");
  return listen.call(this, Number(process.env["PORT"]), "127.0.0.1", ...called);
} as typeof Server.prototype.listen;
