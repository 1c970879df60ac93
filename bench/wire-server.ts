/**
 * A chat-completions endpoint that streams so many deltas as fast as it can: `node bench/wire-server.ts DELTAS` prints
 * its base URL and ends when its stdin closes, so that it cannot outlive the case that started it.
 *
 * Not the model server: that one plays any script and writes every frame on its own, and on two cores its cost would
 * be felt. Here frames are made once and several leave per write, as a busy endpoint's do.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const framesPerWrite = 8;

const deltas = Number(process.argv[2]);
const server = createServer((request, response) => {
  request.resume();
  void answer(response);
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1\n`);
});
process.stdin.once("end", () => process.exit()).resume();

async function answer(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(frame({ role: "assistant", content: "" }));
  const several = frame({ content: "word " }).repeat(framesPerWrite);
  for (let sent = 0; sent < deltas; sent += framesPerWrite) {
    if (!response.write(several)) await once(response, "drain");
  }
  response.end(`${frame({}, "stop")}data: [DONE]\n\n`);
}

function frame(delta: object, finish: string | null = null): string {
  const chunk = {
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
