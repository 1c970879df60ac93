/** From a recorded header and a projected prompt to what `doStream` takes. Pure. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { RequestHeader } from "../log/value.ts";

export function callOptions(header: RequestHeader, prompt: LanguageModelV4Prompt): LanguageModelV4CallOptions {
  const tools = header.tools.map(({ name, description, inputSchema }) => ({
    type: "function" as const,
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: inputSchema as JSONSchema7,
  }));
  return {
    prompt,
    ...header.settings,
    ...(tools.length > 0 ? { tools, toolChoice: header.toolChoice ?? { type: "auto" } } : {}),
    ...(header.providerOptions ? { providerOptions: header.providerOptions as SharedV4ProviderOptions } : {}),
  };
}
