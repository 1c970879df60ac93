import { type Findings, kindOf, type Rule } from "./verdict.ts";

/** What the two OpenAI endpoints say alike of single values. `param` is the place in their own notation. */

const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;

export function wrongType(
  findings: Findings,
  param: string,
  expected: string,
  value: unknown,
  rule: Rule = "wrong-type",
): void {
  if (value === undefined) {
    findings.add(rule, param, `Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
    return;
  }
  const kind = kindOf(value);
  const article = /^[aeiou]/.test(kind) ? "an" : "a";
  const got = value === null ? "null" : `${article} ${kind}`;
  const wording = `Invalid type for '${param}': expected ${expected}, but got ${got} instead.`;
  findings.add(rule, param, wording, { param, code: "invalid_type" });
}

export function judgeToolName(findings: Findings, name: unknown, param: string): void {
  if (typeof name === "string" && TOOL_NAME.test(name)) return;
  const wording = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '${TOOL_NAME.source}'.`;
  findings.add("tool-name", param, wording, { param, code: "invalid_value" });
}

export function judgeCallId(findings: Findings, id: unknown, param: string, lengthMax: number): void {
  if (typeof id !== "string") {
    const wording = `Missing required parameter: '${param}'.`;
    findings.add("call-id", param, wording, { param, code: "missing_required_parameter" });
  } else if (id === "") {
    const wording = `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
    findings.add("call-id", param, wording, { param, code: "empty_string" });
  } else if (id.length > lengthMax) {
    const wording =
      `Invalid '${param}': string too long. Expected a string with maximum length ${lengthMax}, ` +
      `but got a string with length ${id.length} instead.`;
    findings.add("call-id", param, wording, { param, code: "string_above_max_length" });
  }
}
