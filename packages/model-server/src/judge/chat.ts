import { judgeCallId, judgeToolName, wrongType } from "./openai.ts";
import { type Fields, type Findings, isFields, type JudgeOptions, kindOf } from "./verdict.ts";

const ROLES: readonly unknown[] = ["system", "developer", "user", "assistant", "tool", "function"];
const CALL_ID_LENGTH_MAX = 40;

/** The calls of the last assistant message that still wait for their result. */
interface Pending {
  at: number;
  readonly unanswered: Set<unknown>;
  readonly answered: Map<unknown, number>;
}

export function judgeChat(findings: Findings, body: Fields, options: JudgeOptions): void {
  judgeTop(findings, body);
  const messages: readonly unknown[] = Array.isArray(body["messages"]) ? body["messages"] : [];
  const pending: Pending = { at: -1, unanswered: new Set(), answered: new Map() };
  for (const [at, message] of messages.entries()) {
    if (!isFields(message)) {
      wrongType(findings, `messages[${at}]`, "an object", message);
      continue;
    }
    if (!ROLES.includes(message["role"])) {
      const wording = `Invalid value: '${message["role"]}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`;
      findings.add("unknown-role", `messages.${at}.role`, wording, {
        param: `messages[${at}].role`,
        code: "invalid_value",
      });
    }
    if (message["role"] === "tool") {
      judgeResult(findings, message, at, pending);
      continue;
    }
    judgeUnanswered(findings, at, pending);
    judgeContent(findings, message, at);
    judgeReasoning(findings, message, at, options);
    if (message["role"] === "assistant") judgeCalls(findings, message, at, pending);
  }
  judgeUnanswered(findings, messages.length, pending);
}

function judgeTop(findings: Findings, body: Fields): void {
  if (typeof body["model"] !== "string" || body["model"] === "") {
    findings.add("missing-field", "model", "you must provide a model parameter");
  }
  const { messages } = body;
  if (messages === undefined) {
    const details = { param: "messages", code: "missing_required_parameter" };
    findings.add("missing-field", "messages", "Missing required parameter: 'messages'.", details);
  } else if (!Array.isArray(messages)) {
    wrongType(findings, "messages", "an array of objects", messages);
  } else if (messages.length === 0) {
    const wording =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
    findings.add("missing-field", "messages", wording, { param: "messages", code: "empty_array" });
  }
  for (const [at, tool] of (Array.isArray(body["tools"]) ? body["tools"] : []).entries()) {
    const name = isFields(tool) && isFields(tool["function"]) ? tool["function"]["name"] : undefined;
    judgeToolName(findings, name, `tools[${at}].function.name`);
  }
}

function judgeContent(findings: Findings, message: Fields, at: number): void {
  const { role, content } = message;
  const param = `messages[${at}].content`;
  const spoken = typeof content === "string" || (Array.isArray(content) && content.length > 0);
  const hasCalls = Array.isArray(message["tool_calls"]) && message["tool_calls"].length > 0;
  if (role !== "assistant") {
    if (spoken) return;
    const wording = `Invalid value for 'content': expected a string, got ${kindOf(content)}.`;
    findings.add("empty-message", `messages.${at}`, wording, { param });
    return;
  }
  if (content !== null && content !== undefined && !spoken)
    wrongType(findings, param, "one of a string or array of objects", content);
  const empty = !spoken || content === "";
  if (!empty || hasCalls || typeof message["refusal"] === "string" || message["function_call"] !== undefined) return;
  // OpenAI refuses null here, and the stricter compatible servers an empty string as well.
  const wording = `Invalid value for 'content': expected a string, got ${content === "" ? "an empty string" : kindOf(content)}.`;
  findings.add("empty-message", `messages.${at}`, wording, { param });
}

function judgeReasoning(findings: Findings, message: Fields, at: number, options: JudgeOptions): void {
  if (message["role"] !== "assistant") return;
  const present = message["reasoning_content"] !== undefined && message["reasoning_content"] !== null;
  if (options.reasoningMood === "forbidden" && present) {
    const param = `messages[${at}].reasoning_content`;
    findings.add("reasoning-forbidden", `messages.${at}`, `Unknown parameter: '${param}'.`, {
      param,
      code: "unknown_parameter",
    });
  }
  if (options.reasoningMood === "required" && !present && Array.isArray(message["tool_calls"])) {
    const wording = `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`;
    findings.add("reasoning-required", `messages.${at}`, wording);
  }
}

function judgeCalls(findings: Findings, message: Fields, at: number, pending: Pending): void {
  const calls = message["tool_calls"];
  if (calls === undefined || calls === null) return;
  const param = `messages[${at}].tool_calls`;
  if (!Array.isArray(calls)) {
    wrongType(findings, param, "an array of objects", calls);
    return;
  }
  if (calls.length === 0) {
    const wording = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
    findings.add("empty-message", `messages.${at}`, wording, { param, code: "empty_array" });
  }
  pending.at = at;
  pending.answered.clear();
  for (const [index, call] of calls.entries()) {
    const path = `${param}[${index}]`;
    if (!isFields(call)) {
      wrongType(findings, path, "an object", call);
      continue;
    }
    judgeCallId(findings, call["id"], `${path}.id`, CALL_ID_LENGTH_MAX);
    judgeFunction(findings, call["function"], `${path}.function`);
    if (pending.unanswered.has(call["id"])) {
      const wording = `Duplicate value for 'tool_call_id' of '${call["id"]}' in message[${at}].`;
      findings.add("call-duplicate", path, wording, { param: `${path}.id` });
    }
    pending.unanswered.add(call["id"]);
  }
}

function judgeFunction(findings: Findings, called: unknown, param: string): void {
  if (!isFields(called)) {
    const wording = `Missing required parameter: '${param}'.`;
    findings.add("missing-field", param, wording, { param, code: "missing_required_parameter" });
    return;
  }
  judgeToolName(findings, called["name"], `${param}.name`);
  const args = called["arguments"];
  if (typeof args !== "string") {
    wrongType(findings, `${param}.arguments`, "a string", args, "arguments");
    return;
  }
  try {
    JSON.parse(args);
  } catch {
    // OpenAI itself does not look inside; servers that render the call through a template do, and refuse.
    const wording = `Invalid '${param}.arguments': expected a JSON document, but got ${JSON.stringify(args.slice(0, 80))}.`;
    findings.add("arguments", param, wording, { param: `${param}.arguments`, code: "invalid_value" });
  }
}

function judgeResult(findings: Findings, message: Fields, at: number, pending: Pending): void {
  const id = message["tool_call_id"];
  const before = pending.answered.get(id);
  if (before !== undefined) {
    const wording = `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${before}] and messages[${at}].`;
    findings.add("result-duplicate", `messages.${at}`, wording, { param: `messages.[${at}].tool_call_id` });
  } else if (!pending.unanswered.delete(id)) {
    const wording =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    findings.add("result-orphan", `messages.${at}`, wording, { param: `messages.[${at}].role` });
  } else {
    pending.answered.set(id, at);
  }
  if (typeof message["content"] === "string" || Array.isArray(message["content"])) return;
  const wording = `Invalid value for 'content': expected a string, got ${kindOf(message["content"])}.`;
  findings.add("empty-message", `messages.${at}`, wording, { param: `messages[${at}].content` });
}

/** Called where a message that is no result begins (or the history ends): every call before must be answered now. */
function judgeUnanswered(findings: Findings, at: number, pending: Pending): void {
  if (pending.unanswered.size > 0) {
    const wording =
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...pending.unanswered].join(", ")}`;
    findings.add("call-unanswered", `messages.${pending.at}`, wording, { param: `messages.[${at}].role` });
  }
  pending.unanswered.clear();
  pending.answered.clear();
}
