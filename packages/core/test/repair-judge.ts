/** What each real endpoint would say of a history: the published provider package writes the request, a judge reads it. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage } from "@ai-sdk/provider-utils";
import { Issued, judge, PROTOCOLS, type Protocol } from "@pawl/model-server";
import { promptOfMessages } from "./repair-prompt.ts";
import { modelAt } from "./wire-provider.ts";

/** The body that the provider package sends for a prompt; undefined where it sends none. */
async function bodyOf(protocol: Protocol, prompt: LanguageModelV4Prompt): Promise<unknown> {
  let body: unknown;
  const fetch = async (_: unknown, init?: RequestInit) => {
    body = JSON.parse(String(init?.body));
    return new Response("{}", { status: 400 });
  };
  try {
    await modelAt("http://127.0.0.1:1/v1", protocol, "bare", fetch).doGenerate({ prompt });
  } catch {
    // The answer is of no interest.
  }
  return body;
}

/** The first rule that is broken, by protocol; `local` where nothing is even sent. Accepted protocols are not in it. */
export async function refusals(prompt: () => LanguageModelV4Prompt): Promise<Partial<Record<Protocol, string>>> {
  const refused: Partial<Record<Protocol, string>> = {};
  for (const protocol of PROTOCOLS) {
    let body: unknown;
    try {
      body = await bodyOf(protocol, prompt());
    } catch {
      // The SDK refuses it before any provider sees it.
    }
    const rule = body === undefined ? "local" : judge(protocol, body, { issued: new Issued() }).violations[0]?.rule;
    if (rule !== undefined) refused[protocol] = rule;
  }
  return refused;
}

export function refusalsOfMessages(messages: readonly ModelMessage[]): ReturnType<typeof refusals> {
  return refusals(() => promptOfMessages(messages));
}
