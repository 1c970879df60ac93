import type { Protocol } from "./protocol/protocol.ts";

/** Reads a request's history without regard to its protocol, as far as a script's `when` needs it. */
export interface History {
  /** The text of the last message a person wrote. */
  readonly lastUser: string;
  /** Results that came after it: the tool's name and the call's id. */
  readonly results: readonly { readonly tool: string | undefined; readonly callId: string }[];
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((block) => (typeof block["text"] === "string" ? block["text"] : ""))
    .join("");
}

/** The history in order: what a person said, calls and results. */
function* eventsOf(protocol: Protocol, body: Fields): Generator<Fields> {
  if (protocol === "responses") {
    if (typeof body["input"] === "string") yield { user: body["input"] };
    for (const item of listOf(body["input"])) {
      if (item["type"] === "function_call") yield { call: item["call_id"], tool: item["name"] };
      else if (item["type"] === "function_call_output") yield { result: item["call_id"] };
      else if (item["role"] === "user") yield { user: textOf(item["content"]) };
    }
    return;
  }
  for (const message of listOf(body["messages"])) {
    for (const call of listOf(message["tool_calls"])) {
      yield { call: call["id"], tool: isFields(call["function"]) ? call["function"]["name"] : undefined };
    }
    if (message["role"] === "tool") yield { result: message["tool_call_id"] };
    for (const block of listOf(message["content"])) {
      if (block["type"] === "tool_use") yield { call: block["id"], tool: block["name"] };
      if (block["type"] === "tool_result") yield { result: block["tool_use_id"] };
    }
    const text = message["role"] === "user" ? textOf(message["content"]) : "";
    if (text !== "") yield { user: text };
  }
}

export function historyOf(protocol: Protocol, body: unknown): History {
  const tools = new Map<unknown, string>();
  let lastUser = "";
  let results: { tool: string | undefined; callId: string }[] = [];
  for (const event of isFields(body) ? eventsOf(protocol, body) : []) {
    if (typeof event["user"] === "string") {
      lastUser = event["user"];
      results = [];
    }
    if ("call" in event && typeof event["tool"] === "string") tools.set(event["call"], event["tool"]);
    if ("result" in event) results.push({ tool: tools.get(event["result"]), callId: String(event["result"]) });
  }
  return { lastUser, results };
}
