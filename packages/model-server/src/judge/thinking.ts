import type { Provenance } from "../issued.ts";
import { type Fields, type Findings, isFields, type JudgeOptions } from "./verdict.ts";

/** A message with its content as blocks, whatever form the client chose. */
export interface Message {
  readonly role: unknown;
  readonly blocks: readonly Fields[];
}

/** Thinking blocks of an Anthropic history: signed, unmodified, and where a tool loop demands them. */
export function judgeThinking(
  findings: Findings,
  body: Fields,
  messages: readonly Message[],
  options: JudgeOptions,
): void {
  const latest = messages.findLastIndex((message) => message.role === "assistant");
  for (const [at, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    for (const [index, block] of message.blocks.entries()) {
      judgeBlock(findings, block, `messages.${at}.content.${index}`, at === latest, options);
    }
    if (message.blocks.at(-1)?.["type"] === "thinking") {
      const wording = `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`;
      findings.add("thinking-last", `messages.${at}`, wording);
    }
  }
  judgeStart(findings, body, messages, latest);
}

function judgeBlock(findings: Findings, block: Fields, path: string, latest: boolean, options: JudgeOptions): void {
  const { type, thinking, signature, data } = block;
  if (type === "thinking") {
    if (typeof thinking !== "string") findings.add("missing-field", path, `${path}.thinking.thinking: Field required`);
    else if (typeof signature !== "string") {
      findings.add("signature-missing", path, `${path}.thinking.signature: Field required`);
    } else {
      const provenance = options.issued?.provenanceOfThinking(thinking, signature);
      report(findings, path, latest, provenance, "Invalid `signature` in `thinking` block");
    }
  } else if (type === "redacted_thinking") {
    if (typeof data !== "string") findings.add("missing-field", path, `${path}.redacted_thinking.data: Field required`);
    else {
      const provenance = options.issued?.provenanceOfSealed(data, undefined, undefined);
      report(findings, path, latest, provenance, "Invalid `data` in `redacted_thinking` block");
    }
  }
}

function report(
  findings: Findings,
  path: string,
  latest: boolean,
  provenance: Provenance | undefined,
  invalid: string,
): void {
  if (provenance === "unknown") findings.add("signature-unknown", path, `${path}: ${invalid}`);
  if (provenance !== "modified") return;
  const wording =
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. " +
    "These blocks must remain as they were in the original response.";
  findings.add("signature-modified", path, `${path}: ${latest ? wording : invalid}`);
}

/** Inside a tool loop the endpoint wants the thinking that led to the call, when thinking is on with a budget. */
function judgeStart(findings: Findings, body: Fields, messages: readonly Message[], latest: number): void {
  const enabled = isFields(body["thinking"]) && body["thinking"]["type"] === "enabled";
  const message = messages[latest];
  if (!enabled || message === undefined || latest === messages.length - 1) return;
  if (!message.blocks.some((block) => block["type"] === "tool_use")) return;
  const first = message.blocks[0]?.["type"];
  if (first === "thinking" || first === "redacted_thinking") return;
  const path = `messages.${latest}.content.0`;
  const wording =
    `${path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, ` +
    "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and " +
    "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, " +
    "disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";
  findings.add("thinking-not-first", path, wording);
}
