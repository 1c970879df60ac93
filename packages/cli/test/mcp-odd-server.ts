/**
 * An MCP server over standard input and output, by hand, that misbehaves as its first argument says.
 *
 * `append` writes a line into the file of its second argument and gives no answer; `again` does both. Each start adds a line to
 * the file named by the third.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [manner = "good", effects = "", starts = ""] = process.argv.slice(2);
if (starts !== "") appendFileSync(starts, `${process.pid}\n`);
if (manner === "exit") {
  process.stderr.write("no licence found\n");
  process.exit(3);
}
if (manner === "flood") process.stderr.write(`${"noise ".repeat(500_000)}\nthe last word\n`);
if (manner === "garbage") process.stdout.write('Server ready!\n{"half": \n\u0000\u0001\n[]\n');

const object = { type: "object", properties: {} };
const tools: unknown[] = [
  { name: "append", inputSchema: object, annotations: { readOnlyHint: false } },
  { name: "again", inputSchema: object, annotations: { idempotentHint: true, destructiveHint: false } },
  { name: "look", inputSchema: object, annotations: { readOnlyHint: true } },
  { name: "both", inputSchema: object, annotations: { readOnlyHint: true, destructiveHint: true } },
  { name: "env", inputSchema: object },
  { name: "odd", inputSchema: object },
  { name: "grow", inputSchema: object },
  { name: "deaf", inputSchema: object, annotations: { readOnlyHint: true } },
  { name: "with space/and slash", inputSchema: object },
  { name: "x".repeat(100), inputSchema: object },
];
if (manner === "odd-tools")
  tools.push({ name: "no schema" }, { inputSchema: object }, 7, { name: "look", inputSchema: object });

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function text(words: string): object {
  return { content: [{ type: "text", text: words }] };
}

function call(id: unknown, name: string, progressToken: unknown): void {
  switch (name) {
    case "append":
    case "deaf":
      // Progress says that it has begun: whoever waits for it can kill it in the middle.
      if (name === "append") appendFileSync(effects, "appended\n");
      return say({
        method: "notifications/progress",
        params: { progressToken, progress: 1, total: 2, message: "begun" },
      });
    case "again":
      appendFileSync(effects, "appended\n");
      return say({ id, result: text("appended") });
    case "env":
      return say({ id, result: text(JSON.stringify(process.env)) });
    case "odd":
      return say({
        id,
        result: {
          content: [{ type: "hologram", depth: 3 }, { type: "image", data: "not base64!", mimeType: "image/png" }, 7],
          structuredContent: { answer: 42 },
          isError: true,
        },
      });
    case "grow":
      tools.push({ name: `grown${tools.length}`, inputSchema: object });
      say({ method: "notifications/tools/list_changed" });
      return say({ id, result: text("grown") });
    default:
      return say({ id, result: text(`${name} of ${process.pid}`) });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (manner === "deaf") return;
  if (method === "initialize") {
    const { protocolVersion } = params;
    const capabilities = { tools: { listChanged: true } };
    say({ id, result: { protocolVersion, capabilities, serverInfo: { name: "odd", version: "1" } } });
  }
  if (method === "tools/list") say({ id, result: { tools } });
  if (method === "tools/call") call(id, params.name, params._meta?.progressToken);
  if (method === "notifications/cancelled") appendFileSync(effects, `cancelled ${params.reason}\n`);
});
if (manner === "stubborn") {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}
