import { judgeThinking, type Message } from "./thinking.ts";
import { type Fields, type Findings, isFields, type JudgeOptions, kindOf } from "./verdict.ts";

const ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** The endpoint takes no more cache breakpoints than this. */
const CACHE_MARKERS_MAX = 4;

export function judgeAnthropic(findings: Findings, body: Fields, options: JudgeOptions): void {
  judgeTop(findings, body);
  const messages = (Array.isArray(body["messages"]) ? body["messages"] : []).map(messageOf);
  for (const [at, message] of messages.entries()) {
    judgeMessage(findings, message, at, at === messages.length - 1);
    for (const [index, block] of message.blocks.entries()) {
      judgeBlock(findings, message, block, `messages.${at}.content.${index}`);
    }
  }
  judgeOrder(findings, messages);
  judgeCalls(findings, messages);
  judgeResults(findings, messages);
  judgeThinking(findings, body, messages, options);
}

function messageOf(message: unknown): Message {
  if (!isFields(message)) return { role: undefined, blocks: [] };
  const { role, content } = message;
  if (typeof content === "string") return { role, blocks: content === "" ? [] : [{ type: "text", text: content }] };
  return { role, blocks: Array.isArray(content) ? content.filter(isFields) : [] };
}

function judgeTop(findings: Findings, body: Fields): void {
  for (const field of ["model", "max_tokens", "messages"]) {
    if (body[field] === undefined) findings.add("missing-field", field, `${field}: Field required`);
  }
  const { max_tokens: maxTokens, messages, system, tools } = body;
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && Number(maxTokens) >= 1)) {
    const problem =
      typeof maxTokens === "number" ? "Input should be greater than or equal to 1" : "Input should be a valid integer";
    findings.add("wrong-type", "max_tokens", `max_tokens: ${problem}`);
  }
  if (messages !== undefined && !Array.isArray(messages)) {
    findings.add("wrong-type", "messages", "messages: Input should be a valid list");
  } else if (Array.isArray(messages) && messages.length === 0) {
    findings.add("missing-field", "messages", "messages: at least one message is required");
  }
  for (const block of Array.isArray(system) ? system : []) judgeText(findings, block, "system");
  for (const [at, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const name = isFields(tool) ? tool["name"] : undefined;
    if (typeof name === "string" && !TOOL_NAME.test(name)) {
      findings.add(
        "tool-name",
        `tools.${at}.name`,
        `tools.${at}.custom.name: String should match pattern '${TOOL_NAME.source}'`,
      );
    }
  }
  const markers = JSON.stringify(body).split('"cache_control":{').length - 1;
  if (markers > CACHE_MARKERS_MAX) {
    const message = `A maximum of ${CACHE_MARKERS_MAX} blocks with cache_control may be provided. Found ${markers}.`;
    findings.add("cache-markers", "", message);
  }
}

function judgeText(findings: Findings, block: unknown, where: string): void {
  if (!isFields(block) || block["type"] !== "text" || typeof block["text"] !== "string") return;
  if (block["text"] === "") findings.add("blank-text", where, `${where}: text content blocks must be non-empty`);
  else if (block["text"].trim() === "") {
    findings.add("blank-text", where, `${where}: text content blocks must contain non-whitespace text`);
  }
}

function judgeMessage(findings: Findings, message: Message, at: number, last: boolean): void {
  const { role } = message;
  if (role === "system") {
    const wording = `messages: Unexpected role "system". The Messages API accepts a top-level \`system\` parameter, not "system" as an input message role.`;
    findings.add("unknown-role", `messages.${at}.role`, wording);
  } else if (role !== "user" && role !== "assistant") {
    const wording = `messages: Unexpected role ${JSON.stringify(role)}. Allowed roles are "user" or "assistant".`;
    findings.add("unknown-role", `messages.${at}.role`, wording);
  }
  if (message.blocks.length === 0 && !(last && role === "assistant")) {
    const wording = "all messages must have non-empty content except for the optional final assistant message";
    findings.add("empty-message", `messages.${at}`, `messages.${at}: ${wording}`);
  }
}

function judgeBlock(findings: Findings, message: Message, block: Fields, path: string): void {
  switch (block["type"]) {
    case "text":
      judgeText(findings, block, "messages");
      return;
    case "tool_use":
      if (message.role !== "assistant") {
        findings.add("unknown-role", path, `${path}: \`tool_use\` blocks can only be in \`assistant\` messages`);
      }
      judgeId(findings, block["id"], `${path}.tool_use.id`);
      if (typeof block["name"] !== "string" || !TOOL_NAME.test(block["name"])) {
        findings.add("tool-name", path, `${path}.tool_use.name: String should match pattern '${TOOL_NAME.source}'`);
      }
      if (!isFields(block["input"])) {
        findings.add("arguments", path, `${path}.tool_use.input: Input should be a valid dictionary`);
      }
      return;
    case "tool_result":
      if (message.role !== "user") {
        findings.add("unknown-role", path, `${path}: \`tool_result\` blocks can only be in \`user\` messages`);
      }
      judgeResultBlock(findings, block, path);
      return;
    default:
      if (block["type"] === undefined) findings.add("missing-field", path, `${path}.type: Field required`);
  }
}

function judgeId(findings: Findings, id: unknown, path: string): void {
  if (typeof id === "string" && ID.test(id)) return;
  const wording = id === undefined ? "Field required" : `String should match pattern '${ID.source}'`;
  findings.add("call-id", path, `${path}: ${wording}`);
}

function judgeResultBlock(findings: Findings, block: Fields, path: string): void {
  const { content, is_error: isError } = block;
  judgeId(findings, block["tool_use_id"], `${path}.tool_result.tool_use_id`);
  for (const each of Array.isArray(content) ? content : []) judgeText(findings, each, "messages");
  if (content !== undefined && typeof content !== "string" && !Array.isArray(content)) {
    findings.add(
      "wrong-type",
      path,
      `${path}.tool_result.content: Input should be a valid list, not ${kindOf(content)}`,
    );
  }
  const empty = content === undefined || content === "" || (Array.isArray(content) && content.length === 0);
  if (isError === true && empty) {
    findings.add("blank-text", path, `${path}.tool_result: content cannot be empty if \`is_error\` is true`);
  }
}

/** Consecutive messages of one role are combined by the endpoint, so only the two ends are bound. */
function judgeOrder(findings: Findings, messages: readonly Message[]): void {
  if (messages[0]?.role === "assistant") {
    findings.add("first-not-user", "messages.0", 'messages: first message must use the "user" role');
  }
  const last = messages.at(-1);
  const text = last?.role === "assistant" ? last.blocks.at(-1)?.["text"] : undefined;
  if (typeof text === "string" && text !== text.trimEnd()) {
    const wording = "messages: final assistant content cannot end with trailing whitespace";
    findings.add("trailing-whitespace", `messages.${messages.length - 1}`, wording);
  }
}

function idsOf(message: Message | undefined, type: "tool_use" | "tool_result", field: string): unknown[] {
  return (message?.blocks ?? []).filter((block) => block["type"] === type).map((block) => block[field]);
}

/** The results before anything else in the message: only these count as "immediately after". */
function leadingResults(message: Message | undefined): unknown[] {
  if (message?.role !== "user") return [];
  const end = message.blocks.findIndex((block) => block["type"] !== "tool_result");
  const leading = end < 0 ? message.blocks : message.blocks.slice(0, end);
  return leading.map((block) => block["tool_use_id"]);
}

function judgeCalls(findings: Findings, messages: readonly Message[]): void {
  const seen = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    for (const [index, block] of message.blocks.entries()) {
      if (block["type"] !== "tool_use") continue;
      const path = `messages.${at}.content.${index}`;
      if (seen.has(block["id"])) findings.add("call-duplicate", path, `${path}: \`tool_use\` ids must be unique`);
      seen.add(block["id"]);
    }
    const next = messages[at + 1];
    const answered = leadingResults(next);
    const missing = idsOf(message, "tool_use", "id").filter((id) => !answered.includes(id));
    if (missing.length === 0) continue;
    const late = idsOf(next, "tool_result", "tool_use_id");
    const rule = missing.every((id) => late.includes(id)) ? "result-not-first" : "call-unanswered";
    const wording =
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. ` +
      "Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    findings.add(rule, `messages.${at}`, wording);
  }
}

function judgeResults(findings: Findings, messages: readonly Message[]): void {
  for (const [at, message] of messages.entries()) {
    const called = idsOf(messages[at - 1], "tool_use", "id");
    const answered = new Set<unknown>();
    for (const [index, block] of message.blocks.entries()) {
      if (block["type"] !== "tool_result") continue;
      const path = `messages.${at}.content.${index}`;
      const id = block["tool_use_id"];
      if (!called.includes(id)) {
        const wording =
          `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
          "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
        findings.add("result-orphan", path, wording);
      } else if (answered.has(id)) {
        const wording = `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
        findings.add("result-duplicate", path, wording);
      }
      answered.add(id);
    }
  }
}
