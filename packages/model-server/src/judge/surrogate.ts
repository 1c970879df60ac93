import type { Protocol } from "../protocol/protocol.ts";
import type { Findings } from "./verdict.ts";

const OPENAI_NOT_JSON =
  "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
  "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)";

/** What an endpoint says of a body that its JSON parser refuses. */
export function notJson(protocol: Protocol, reason: string): string {
  return protocol === "anthropic" ? `The request body is not valid JSON: ${reason}` : OPENAI_NOT_JSON;
}

const LONE_SURROGATE = /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/;

/**
 * JSON.stringify escapes exactly the surrogates that stand alone (and doubles a backslash that was in the text), so
 * an odd run of backslashes before such an escape means a half character.
 */
export function findLoneSurrogate(findings: Findings, protocol: Protocol, body: unknown): void {
  const text = JSON.stringify(body) ?? "";
  if (!text.includes("\\ud")) return;
  let at = -1;
  for (const match of text.matchAll(new RegExp(LONE_SURROGATE, "g"))) {
    const before = text.slice(0, match.index).match(/\\*$/)?.[0].length ?? 0;
    if (before % 2 === 0) {
      at = match.index;
      break;
    }
  }
  if (at < 0) return;
  const reason = `no low surrogate in string: line 1 column ${at + 1} (char ${at})`;
  findings.add("lone-surrogate", `char ${at}`, notJson(protocol, reason));
}
