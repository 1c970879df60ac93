import type { Protocol } from "../protocol/protocol.ts";
import { judgeAnthropic } from "./anthropic.ts";
import { judgeChat } from "./chat.ts";
import { judgeResponses } from "./responses.ts";
import { findLoneSurrogate, notJson } from "./surrogate.ts";
import { Findings, isFields, type JudgeOptions, kindOf, type Verdict } from "./verdict.ts";

/**
 * Judges a request body as the protocol's real endpoint would. Pure: the same body, options and registry give the
 * same verdict.
 *
 * @example
 * const verdict = judge("anthropic", body);
 * if (!verdict.ok) console.error(verdict.violations[0]?.message);
 */
export function judge(protocol: Protocol, body: unknown, options: JudgeOptions = {}): Verdict {
  const findings = new Findings();
  if (!isFields(body)) {
    findings.add("wrong-type", "", notJson(protocol, `expected an object, got ${kindOf(body)}`));
    return findings.verdict();
  }
  // A body with half a character does not parse, so the endpoint says nothing else about it.
  findLoneSurrogate(findings, protocol, body);
  switch (protocol) {
    case "chat":
      judgeChat(findings, body, options);
      break;
    case "responses":
      judgeResponses(findings, body, options);
      break;
    case "anthropic":
      judgeAnthropic(findings, body, options);
      break;
  }
  return findings.verdict();
}
