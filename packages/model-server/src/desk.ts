import type { IncomingMessage, ServerResponse } from "node:http";
import { conversationOf } from "./conversation.ts";
import { credentialFault } from "./credential.ts";
import { anthropicError, openaiError, statusBody } from "./fault.ts";
import { Gates } from "./gate.ts";
import { Issued } from "./issued.ts";
import { judge } from "./judge/judge.ts";
import { isFields, type ReasoningMood, type Verdict } from "./judge/verdict.ts";
import { playStream, playWhole, type Stage } from "./play.ts";
import { Prompter, type ScriptFunction } from "./prompter.ts";
import { AnthropicEncoder } from "./protocol/anthropic.ts";
import { ChatEncoder } from "./protocol/chat.ts";
import { CREATED_S, type Encoder, Ids, type Reply } from "./protocol/encoder.ts";
import { type Protocol, protocolOf } from "./protocol/protocol.ts";
import { ResponsesEncoder } from "./protocol/responses.ts";
import { type Ending, type OpenRecord, type RecordedRequest, Recorder } from "./record.ts";
import { score } from "./score.ts";
import type { PlayedEntry, Script, StatusEntry } from "./script.ts";

/** How a server behaves besides its script. */
export interface Manners {
  /** Requests with another key (or none) get 401. Default: any key or none is let in. */
  readonly apiKey?: string;
  /** `refuse` answers an invalid history with 400, `record` only notes the verdict. Default: refuse. */
  readonly judging?: "refuse" | "record";
  /** Whether chat history must, must not or may carry `reasoning_content`. Default: accepted. */
  readonly reasoningMood?: ReasoningMood;
  /** What `GET /v1/models` lists. */
  readonly models?: readonly string[];
  /** Told of each request when its response is over. */
  readonly onEnd?: (request: RecordedRequest, ending: Ending) => void;
}

/** Owns one server's state and answers its requests. */
export class Desk {
  readonly recorder = new Recorder();
  readonly gates = new Gates();
  readonly issued = new Issued();
  readonly #manners: Manners;
  readonly #prompter: Prompter;
  readonly #ids = new Ids();
  readonly #closing = new AbortController();

  constructor(script: Script | ScriptFunction, manners: Manners) {
    this.#manners = manners;
    this.#prompter = new Prompter(script);
  }

  close(): void {
    this.#closing.abort();
    this.recorder.close();
  }

  /** A script function that throws is the test's fault: say so, do not hang. */
  fail(response: ServerResponse, error: unknown): void {
    const message = `The model server failed: ${error instanceof Error ? error.message : String(error)}`;
    if (response.headersSent) response.destroy();
    else sendJson(response, 500, openaiError({ message, type: "model_server_error", param: null, code: null }));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    if (request.method === "GET" && path === "/health") return sendJson(response, 200, { status: "ok" });
    if (request.method === "GET" && path === "/v1/models") return sendJson(response, 200, this.#models());
    const protocol = protocolOf(path);
    if (protocol === undefined || request.method !== "POST") {
      const message = `Unknown request URL: ${request.method} ${path}. Known: POST /v1/chat/completions, /v1/responses, /v1/messages; GET /v1/models, /health.`;
      return sendJson(
        response,
        404,
        openaiError({ message, type: "invalid_request_error", param: null, code: "unknown_url" }),
      );
    }
    const body = await readBody(request);
    const parsed = parseJson(body);
    const verdict = this.#judge(protocol, parsed);
    const record = this.recorder.open({ protocol, path, headers: request.headers, body, parsed, verdict }, response);
    await this.#answerModel(record, response);
  }

  #models(): unknown {
    const models = this.#manners.models ?? ["scripted"];
    const data = models.map((id) => ({
      id,
      object: "model",
      type: "model",
      display_name: id,
      created: CREATED_S,
      owned_by: "scripted",
    }));
    return { object: "list", data, has_more: false };
  }

  #judge(protocol: Protocol, parsed: unknown): Verdict {
    const { reasoningMood } = this.#manners;
    return judge(protocol, parsed, { issued: this.issued, ...(reasoningMood === undefined ? {} : { reasoningMood }) });
  }

  async #answerModel(record: OpenRecord, response: ServerResponse): Promise<void> {
    const { protocol } = record;
    const requestId = this.#ids.next("req");
    response.setHeader(protocol === "anthropic" ? "request-id" : "x-request-id", requestId);
    let wasReset = false;
    const left = new AbortController();
    response.once("close", () => {
      left.abort();
      const ending = this.#ending(response, wasReset);
      record.end(ending);
      this.#manners.onEnd?.(record, ending);
    });
    const refusal = this.#refusal(record, requestId);
    if (refusal !== undefined) return sendJson(response, refusal.status, refusal.body);
    const entry = this.#prompter.next(record);
    if (entry === undefined) {
      const message = `The script is used up: request ${record.order} has no entry. Add an entry, or set loop or fallback.`;
      return sendJson(response, 500, statusBody(protocol, 500, requestId, { type: "script_used_up", message }));
    }
    if ("status" in entry) return sendStatus(record, response, entry, requestId);
    const signal = AbortSignal.any([left.signal, this.#closing.signal]);
    const onReset = () => {
      wasReset = true;
    };
    const stage: Stage = { response, protocol, requestId, signal, gates: this.gates, pieces: entry.pieces, onReset };
    await this.#play(record, entry, stage);
  }

  /** Why a request never reaches the script: its credentials, or its history. */
  #refusal(record: RecordedRequest, requestId: string): { status: number; body: unknown } | undefined {
    const { protocol, verdict, headers } = record;
    const credential = credentialFault(protocol, headers, this.#manners.apiKey);
    if (credential !== undefined) {
      return { status: credential.status, body: statusBody(protocol, credential.status, requestId, credential) };
    }
    const [violation] = verdict.violations;
    if (violation === undefined || this.#manners.judging === "record") return undefined;
    const { status, message, param, code } = violation;
    const type = "invalid_request_error";
    if (protocol === "anthropic") return { status, body: anthropicError(type, message, requestId) };
    return { status, body: openaiError({ message, type, param, code }) };
  }

  #ending(response: ServerResponse, wasReset: boolean): Ending {
    if (wasReset) return "reset";
    if (response.writableFinished) return "finished";
    return this.#closing.signal.aborted ? "closed" : "aborted";
  }

  async #play(record: OpenRecord, entry: PlayedEntry, stage: Stage): Promise<void> {
    const request = isFields(record.parsed) ? record.parsed : {};
    const streams = request["stream"] === true;
    const encoder = encoderFor(record.protocol, {
      model: typeof request["model"] === "string" ? request["model"] : "scripted",
      request,
      input: record.protocol === "responses" ? conversationOf(request, this.issued) : [],
      newId: (kind) => this.#ids.next(kind, record.body),
      issued: this.issued,
    });
    stage.response.setHeader("content-type", streams ? "text/event-stream; charset=utf-8" : "application/json");
    if (streams) stage.response.setHeader("cache-control", "no-cache");
    for (const [name, value] of Object.entries(entry.headers ?? {})) stage.response.setHeader(name, value);
    const beats = score(entry.steps, record.body.length);
    await (streams ? playStream(stage, beats, encoder) : playWhole(stage, beats, encoder));
  }
}

function encoderFor(protocol: Protocol, reply: Reply): Encoder {
  switch (protocol) {
    case "chat":
      return new ChatEncoder(reply);
    case "responses":
      return new ResponsesEncoder(reply);
    case "anthropic":
      return new AnthropicEncoder(reply);
  }
}

function sendStatus(record: OpenRecord, response: ServerResponse, entry: StatusEntry, requestId: string): void {
  const { body = statusBody(record.protocol, entry.status, requestId, entry.error) } = entry;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.setHeader("content-type", typeof body === "string" ? "text/plain" : "application/json");
  for (const [name, value] of Object.entries(entry.headers ?? {})) response.setHeader(name, value);
  response.statusCode = entry.status;
  response.end(text);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
