/**
 * Our edge of the wire: a `fetch` for provider packages that tells the attempt behind a request what really happened.
 *
 * Owns: reporting bytes, status, the transport's own error and the terminal frame; ending the body at that frame, so that
 * a reset behind a whole answer costs nothing. Does not own: what follows from any of it. Invariants:
 * 1. A request that no attempt registered passes through untouched.
 * 2. No byte is delayed beyond the end of its frame.
 */
import { FrameFilter, type WireProtocol } from "./frame-filter.ts";
import { type Wire, wireOf } from "./wire.ts";

export type Fetch = typeof globalThis.fetch;

/**
 * Wraps the `fetch` that a provider package is built with. Models built without it work too, by their parts; with it,
 * silence is told from a slow answer by every byte, an answer is kept once its terminal frame came, a custom transport's
 * own word counts, and tool calls of sloppy servers are mended.
 *
 * ```ts
 * const provider = createOpenAICompatible({ name: "local", baseURL, fetch: watchedFetch(globalThis.fetch) });
 * ```
 */
export function watchedFetch(transport: Fetch): Fetch {
  return async (input, init) => {
    const wire = wireOf(init?.signal);
    if (!wire) return transport(input, init);
    let response: Response;
    try {
      response = await transport(input, init);
    } catch (error) {
      wire.broke(error);
      throw error;
    }
    wire.status = response.status;
    return response.ok && response.body ? watched(response, response.body, wire, input) : response;
  };
}

function watched(response: Response, body: ReadableStream<Uint8Array>, wire: Wire, input: unknown): Response {
  const events = response.headers.get("content-type")?.includes("text/event-stream") === true;
  wire.frames(events);
  const filter = events ? new FrameFilter(wire, protocolOf(input)) : undefined;
  const { status, statusText, headers } = response;
  return new Response(watchedBody(body, wire, filter), { status, statusText, headers });
}

/** By the endpoint's path. Only chat completions are mended: the others say what they mean, or nothing can be done. */
function protocolOf(input: unknown): WireProtocol {
  const url = input instanceof Request ? input.url : String(input);
  const [, name] = /\/(chat\/completions|responses|messages)($|[?#])/.exec(url) ?? [];
  switch (name) {
    case "chat/completions":
      return "chat";
    case "responses":
      return name;
    case "messages":
      return "anthropic";
    default:
      return "unknown";
  }
}

function watchedBody(
  body: ReadableStream<Uint8Array>,
  wire: Wire,
  filter: FrameFilter | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const drained = Promise.withResolvers<void>();
  let closed = false;
  const close = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (closed) return;
    closed = true;
    controller.close();
  };
  /** The next bytes of the source; undefined at its end, which a break behind a whole answer is, too. */
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      const { done, value } = await reader.read();
      if (done) drained.resolve();
      return value;
    } catch (error) {
      drained.resolve();
      wire.broke(error);
      if (!wire.whole) throw error;
      wire.note("the connection broke after the terminal frame");
      return undefined;
    }
  };
  /** Reads what is left, so that the connection can be used again; the wire's cut ends it where the server does not. */
  const drain = async () => {
    while (await next());
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        wire.opened(() => {
          close(controller);
          reader.cancel().catch(() => {});
        }, drained.promise);
      },
      async pull(controller) {
        for (;;) {
          const value = await next();
          if (closed) return;
          if (value) wire.heard();
          const bytes = value && filter ? filter.push(value) : (value ?? filter?.end());
          if (bytes) controller.enqueue(bytes);
          if (!value || filter?.over) close(controller);
          if (value && filter?.over) drain().catch(() => {});
          if (closed || bytes) return;
        }
      },
      cancel: (reason) => reader.cancel(reason).finally(() => drained.resolve()),
    },
    // A chunk is asked for when the package asks: it reads ahead enough by itself.
    { highWaterMark: 0 },
  );
}
