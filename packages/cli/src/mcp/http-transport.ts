/** A server that is reached by streamable HTTP: the SDK's transport, and a word when an answer can no longer come. */
import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Timers } from "@pawl/core";

/** Of JSON-RPC's range for implementations; nobody sends it, so that it is known for our own. */
export const streamEndedCode = -32_999;

type Sdk = typeof import("@modelcontextprotocol/client");
type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/**
 * The stream of an answer that ends without it is taken up again where the server can do that, a few times; after that the request is
 * answered with {@link streamEndedCode}. Without this it would wait for its deadline.
 */
export function httpTransport(
  sdk: Sdk,
  url: string,
  headers: Record<string, string>,
  timers: Timers,
): StreamableHTTPClientTransport {
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    reconnectionScheduler: (reconnect, delay) => timers.after(delay, reconnect),
  });
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options?: SendOptions) => {
    if (!("id" in message) || !("method" in message)) return send(message, options);
    const { id } = message;
    const ended: JSONRPCMessage = {
      jsonrpc: "2.0",
      id,
      error: { code: streamEndedCode, message: "the connection ended before the answer" },
    };
    return send(message, { ...options, onRequestStreamEnd: () => transport.onmessage?.(ended) });
  };
  return transport;
}
