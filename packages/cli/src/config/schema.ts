/**
 * What a configuration file may say, as a schema: what is checked, what `config.schema.json` publishes, and the types.
 *
 * Owns: names and shapes. Does not own: which file's word counts (see layer). Every key is optional, and an unknown one is an
 * error: a misspelled `permisions` that is passed over in silence would allow what was meant to be denied.
 */
import { limit } from "@pawl/core";
import { z } from "zod";
import { serversSchema } from "../mcp/server-config.ts";

/** From the narrowest to the widest. */
export const modes = ["plan", "ask", "accept-edits", "all"] as const;
export type Mode = (typeof modes)[number];

/** From the widest to the narrowest. */
export const sandboxModes = ["off", "auto", "require"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

/** The protocols that a server of one's own may speak. */
export const protocols = ["openai-chat", "openai", "anthropic"] as const;

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable");
const address = z.url({ protocol: /^https?$/, error: "a URL such as http://127.0.0.1:11434/v1" });
const packageName = z.string().regex(/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/, "the name of an npm package");
const pattern = z.string().max(limit.patternChars);

const ruleSchema = z
  .strictObject({
    tool: pattern.exactOptional().describe("A pattern over the tool's name; default any"),
    effect: z.enum(["read", "idempotent", "write"]).exactOptional(),
    input: z
      .record(z.string(), pattern)
      .exactOptional()
      .describe('Patterns by the name of an input field, for example {"command": "git log *"} or {"path": "src/**"}'),
    say: z.enum(["allow", "ask", "deny"]),
  })
  .describe("The last rule that matches decides between allow and ask; a deny that matches is above every allow");

const providerSchema = z.strictObject({
  package: packageName
    .exactOptional()
    .describe("An AI SDK provider package, installed by you; default: a protocol that Pawl speaks"),
  protocol: z.enum(protocols).exactOptional().describe("Without a package; default openai-chat"),
  baseUrl: address.exactOptional(),
  keyEnv: variable.exactOptional().describe("The environment variable that holds its key"),
  options: z.record(z.string(), z.json()).exactOptional().describe("Further settings of the package's own"),
});

const price = z.number().min(0).exactOptional();
const pricingSchema = z
  .strictObject({ input: z.number().min(0), output: z.number().min(0), cacheRead: price, cacheWrite: price })
  .describe("Money for a million tokens");

const sandboxSchema = z.strictObject({
  mode: z
    .enum(sandboxModes)
    .exactOptional()
    .describe("auto (default): where it works; require: no commands without; off"),
  network: z.boolean().exactOptional().describe("Whether commands reach the network; default true"),
  writable: z
    .array(z.string().min(1))
    .exactOptional()
    .describe("Further folders that commands may write to; ~ is your home"),
  hidden: z
    .array(z.string().min(1))
    .exactOptional()
    .describe("Further files and folders that commands do not see; ~ is your home"),
});

export const configSchema = z
  .strictObject({
    $schema: z.string().exactOptional(),
    model: z.string().min(1).exactOptional().describe("PROVIDER:ID, for example anthropic:claude-sonnet-4-5"),
    baseUrl: address.exactOptional().describe("A server of your own, for the model above"),
    apiKeyEnv: variable.exactOptional().describe("The environment variable that holds the key of the model above"),
    store: z
      .string()
      .min(1)
      .exactOptional()
      .describe("Where sessions are kept: a folder, or postgres://USER@HOST/DATABASE; only in your own file"),
    window: z.int().min(1).exactOptional().describe("The model's context window, tokens"),
    idleMs: z
      .int()
      .min(0)
      .exactOptional()
      .describe("How long a stream may be silent before it counts as broken; 0: for ever"),
    mode: z.enum(modes).exactOptional().describe("What runs without asking; default ask"),
    permissions: z.array(ruleSchema).exactOptional(),
    sandbox: z
      .union([z.enum(sandboxModes), sandboxSchema])
      .exactOptional()
      .describe("Where commands run"),
    mcpServers: serversSchema.exactOptional(),
    env: z
      .array(variable)
      .exactOptional()
      .describe("Variables that look like secrets and are passed on to commands all the same"),
    providers: z
      .record(z.string().regex(/^[a-z0-9][a-z0-9._-]*$/, "small letters, digits, ., _ and -"), providerSchema)
      .exactOptional(),
    pricing: z.record(z.string(), pricingSchema).exactOptional().describe("By PROVIDER:ID; currency says of what"),
    currency: z.string().min(1).max(8).exactOptional().describe("What prices are in; default USD"),
    instructions: z
      .array(z.string().min(1))
      .exactOptional()
      .describe(
        "Further files of instructions for the model, relative to the project's folder or, in your own file, to that file's; ~ is your home",
      ),
  })
  .meta({ title: "Pawl's configuration" });

export type Config = z.infer<typeof configSchema>;
export type ProviderConfig = z.infer<typeof providerSchema>;
export type SandboxConfig = z.infer<typeof sandboxSchema>;
export type Pricing = z.infer<typeof pricingSchema>;

/** What is published beside the program. */
export function publishedSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input" });
}
