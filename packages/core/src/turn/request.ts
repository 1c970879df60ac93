/** From a recorded header and a projected prompt to what `doStream` takes. Pure. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { copied } from "../log/copy.ts";
import type { RequestHeader, ToolHeader } from "../log/value.ts";

type Offered = NonNullable<LanguageModelV4CallOptions["tools"]>[number];
type ProviderTool = Extract<Offered, { type: "provider" }>;

function toolOf({ name, description, inputSchema, provider }: ToolHeader): Offered {
  if (provider) {
    const { id, args } = provider;
    return { type: "provider", id: id as ProviderTool["id"], name, args: args as ProviderTool["args"] };
  }
  const described = description === undefined ? {} : { description };
  return { type: "function", name, ...described, inputSchema: inputSchema as JSONSchema7 };
}

export function callOptions(header: RequestHeader, prompt: LanguageModelV4Prompt): LanguageModelV4CallOptions {
  const tools = copied(header.tools).map(toolOf);
  return {
    prompt,
    ...header.settings,
    ...(tools.length > 0 ? { tools, toolChoice: header.toolChoice ?? { type: "auto" } } : {}),
    ...(header.providerOptions ? { providerOptions: copied(header.providerOptions) as SharedV4ProviderOptions } : {}),
  };
}
