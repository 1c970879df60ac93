import { conversationOf } from "../conversation.ts";
import type { Item } from "../issued.ts";
import { judgeCallId, judgeToolName, wrongType } from "./openai.ts";
import { type Fields, type Findings, isFields, type JudgeOptions, kindOf } from "./verdict.ts";

const CALL_ID_LENGTH_MAX = 64;
/** What an id of each item type begins with. */
const ID_PREFIX: Readonly<Record<string, string>> = { message: "msg", reasoning: "rs", function_call: "fc" };
const ROLES: readonly unknown[] = ["user", "assistant", "system", "developer"];

export function judgeResponses(findings: Findings, body: Fields, options: JudgeOptions): void {
  judgeTop(findings, body, options);
  const items = conversationOf(body, options.issued);
  const ids = new Set<unknown>();
  for (const [at, item] of items.entries()) {
    judgeItem(findings, item, at);
    judgeItemId(findings, item, at, ids);
    // A reference that is still one after resolving names nothing stored; without a registry nobody can tell.
    if (item["type"] === "item_reference" && options.issued !== undefined) notFound(findings, item["id"], at);
    if (item["type"] === "reasoning") judgeReasoning(findings, body, items, at, options);
  }
  judgePairs(findings, items);
}

function judgeTop(findings: Findings, body: Fields, options: JudgeOptions): void {
  const { input, previous_response_id: previous } = body;
  if (typeof body["model"] !== "string" || body["model"] === "") {
    findings.add("missing-field", "model", "Missing required parameter: 'model'.", {
      param: "model",
      code: "missing_required_parameter",
    });
  }
  if (input === undefined) {
    const details = { param: "input", code: "missing_required_parameter" };
    findings.add("missing-field", "input", "Missing required parameter: 'input'.", details);
  } else if (typeof input !== "string" && !Array.isArray(input)) {
    wrongType(findings, "input", "one of a string or array of objects", input);
  }
  if (
    typeof previous === "string" &&
    options.issued !== undefined &&
    options.issued.conversation(previous) === undefined
  ) {
    const wording = `Previous response with id '${previous}' not found.`;
    findings.add("item-unknown", "previous_response_id", wording, {
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  }
  for (const [at, tool] of (Array.isArray(body["tools"]) ? body["tools"] : []).entries()) {
    if (isFields(tool) && tool["type"] === "function") judgeToolName(findings, tool["name"], `tools[${at}].name`);
  }
}

function typeOf(item: Item): unknown {
  return item["type"] ?? ("role" in item ? "message" : undefined);
}

function judgeItem(findings: Findings, item: Item, at: number): void {
  const param = `input[${at}]`;
  switch (typeOf(item)) {
    case "message":
      judgeMessage(findings, item, param);
      return;
    case "function_call":
      judgeCallId(findings, item["call_id"], `${param}.call_id`, CALL_ID_LENGTH_MAX);
      judgeToolName(findings, item["name"], `${param}.name`);
      if (typeof item["arguments"] !== "string") {
        wrongType(findings, `${param}.arguments`, "a string", item["arguments"], "arguments");
      }
      return;
    case "function_call_output": {
      judgeCallId(findings, item["call_id"], `${param}.call_id`, CALL_ID_LENGTH_MAX);
      const { output } = item;
      if (typeof output === "string" || Array.isArray(output)) return;
      const wording = `Missing required parameter: '${param}.output'.`;
      findings.add("empty-message", param, wording, { param: `${param}.output`, code: "missing_required_parameter" });
      return;
    }
    case undefined:
      findings.add("missing-field", param, `Missing required parameter: '${param}.type'.`, {
        param: `${param}.type`,
        code: "missing_required_parameter",
      });
  }
}

function judgeMessage(findings: Findings, item: Item, param: string): void {
  const { role, content } = item;
  if (!ROLES.includes(role)) {
    const wording = `Invalid value: '${role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`;
    findings.add("unknown-role", param, wording, { param: `${param}.role`, code: "invalid_value" });
  }
  if (typeof content === "string") return;
  if (!Array.isArray(content) || content.length === 0) {
    const wording = `Invalid '${param}.content': expected a string or an array with minimum length 1, but got ${kindOf(content)} instead.`;
    findings.add("empty-message", param, wording, { param: `${param}.content`, code: "empty_array" });
    return;
  }
  const wanted = role === "assistant" ? "output_text" : "input_text";
  for (const [at, part] of content.entries()) {
    const type = isFields(part) ? part["type"] : undefined;
    if ((type === "input_text" || type === "output_text") && type !== wanted) {
      const supported =
        role === "assistant" ? "'output_text' and 'refusal'" : "'input_text', 'input_image', and 'input_file'";
      const wording = `Invalid value: '${type}'. Supported values are: ${supported}.`;
      findings.add("wrong-type", param, wording, { param: `${param}.content[${at}]`, code: "invalid_value" });
    }
  }
}

function judgeItemId(findings: Findings, item: Item, at: number, seen: Set<unknown>): void {
  const { id } = item;
  if (typeof id !== "string" || item["type"] === "item_reference") return;
  const prefix = ID_PREFIX[String(typeOf(item))];
  const param = `input[${at}].id`;
  if (prefix !== undefined && !id.startsWith(prefix)) {
    const wording = `Invalid '${param}': '${id}'. Expected an ID that begins with '${prefix}'.`;
    findings.add("item-id", param, wording, { param, code: "invalid_value" });
  }
  if (seen.has(id)) {
    const wording = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`;
    findings.add("item-duplicate", param, wording, { param: "input" });
  }
  seen.add(id);
}

function notFound(findings: Findings, id: unknown, at: number): void {
  const wording =
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
    "Try again with `store` set to true, or remove this item from your input.";
  findings.add("item-unknown", `input[${at}]`, wording, { status: 404, param: "input" });
}

/** A reasoning item is whole (encrypted, or stored here), ours, unmodified, and followed by what it led to. */
function judgeReasoning(
  findings: Findings,
  body: Fields,
  items: readonly Item[],
  at: number,
  options: JudgeOptions,
): void {
  const item = items[at];
  if (item === undefined) return;
  const { encrypted_content: content, id, summary } = item;
  const stored = typeof id === "string" && options.issued?.item(id) !== undefined;
  if (typeof content === "string" && options.issued !== undefined) {
    const text = summaryText(summary);
    const provenance = options.issued.provenanceOfSealed(content, typeof id === "string" ? id : undefined, text);
    if (provenance !== "genuine") {
      const which = typeof id === "string" ? ` for item ${id}` : "";
      const reason =
        provenance === "unknown"
          ? "Encrypted content could not be decrypted or parsed."
          : "Encrypted content item_id did not match the target item id.";
      const wording = `The encrypted content${which} could not be verified. Reason: ${reason}`;
      const rule = provenance === "unknown" ? "signature-unknown" : "signature-modified";
      findings.add(rule, `input[${at}]`, wording, { code: "invalid_encrypted_content" });
    }
  } else if (typeof content !== "string" && !stored && (options.issued !== undefined || body["store"] === false)) {
    notFound(findings, id, at);
  }
  const next = items.slice(at + 1).find((each) => each["type"] !== "reasoning");
  const continues =
    next !== undefined &&
    (next["role"] === "assistant" || !["message", "function_call_output"].includes(String(typeOf(next))));
  if (continues) return;
  const wording = `Item '${id}' of type 'reasoning' was provided without its required following item.`;
  findings.add("reasoning-alone", `input[${at}]`, wording, { param: "input" });
}

/** undefined when no summary came: the endpoint does not need it. */
function summaryText(summary: unknown): string | undefined {
  if (!Array.isArray(summary) || summary.length === 0) return undefined;
  return summary.map((part) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function judgePairs(findings: Findings, items: readonly Item[]): void {
  const called = new Set<unknown>();
  const answered = new Set<unknown>();
  for (const [at, item] of items.entries()) {
    const id = item["call_id"];
    if (item["type"] === "function_call") {
      if (called.has(id))
        findings.add("call-duplicate", `input[${at}]`, `Duplicate 'call_id': ${id}.`, { param: "input" });
      called.add(id);
    } else if (item["type"] === "function_call_output") {
      if (!called.has(id)) {
        const wording = `No tool call found for function call output with call_id ${id}.`;
        findings.add("result-orphan", `input[${at}]`, wording, { param: "input" });
      } else if (answered.has(id)) {
        const wording = `Duplicate function call output for call_id ${id}.`;
        findings.add("result-duplicate", `input[${at}]`, wording, { param: "input" });
      }
      answered.add(id);
    }
  }
  for (const id of called) {
    if (answered.has(id)) continue;
    findings.add("call-unanswered", "input", `No tool output found for function call ${id}.`, { param: "input" });
  }
}
