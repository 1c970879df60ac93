/** A configuration as it can be shown to others: what its name or place says is a secret stays with whoever wrote it. */
import { maskedUrls } from "../masked-url.ts";
import type { Loaded } from "./load.ts";

type Shown = { [key: string]: unknown };

const hidden = "…";
const secretName = /key|token|secret|passw|credential|auth/i;
const assignment =
  /^([^=:\s]*(?:key|token|secret|passw|credential|auth)[^=:\s]*[=:]|--?[^=\s]*=[^=:\s]*auth[^=:\s]*:)./is;
const parameter = /([?&][^=&#\s]*(?:key|token|secret|passw|credential|auth)[^=&#\s]*=)[^&#\s]*/gi;

export function withoutSecrets({ mcpServers, providers, ...others }: Loaded["values"]): Shown {
  return {
    ...(addressesMasked(others) as Shown),
    providers: each(providers, ({ options, ...provider }) => ({
      ...(addressesMasked(provider) as Shown),
      ...(options ? { options: named(options) } : {}),
    })),
    mcpServers: each(mcpServers, (server): Shown => {
      if ("url" in server) {
        const { headers, ...rest } = server;
        return { ...(addressesMasked(rest) as Shown), ...(headers ? { headers: each(headers, () => hidden) } : {}) };
      }
      const { env, args, ...rest } = server;
      return {
        ...rest,
        ...(args ? { args: argumentsShown(args) } : {}),
        ...(env ? { env: each(env, () => hidden) } : {}),
      };
    }),
  };
}

function each<T>(record: { readonly [key: string]: T } | undefined, show: (value: T) => unknown): Shown {
  return Object.fromEntries(Object.entries(record ?? {}).map(([key, value]) => [key, show(value)]));
}

/** `--api-key=…`, `KEY=…`, `Authorization: …`, and what follows `--token`. */
function argumentsShown(args: readonly string[]): string[] {
  return args.map((word, at) => {
    const [, name] = assignment.exec(word) ?? [];
    if (name !== undefined) return name + hidden;
    const before = args[at - 1] ?? "";
    const isAsked = before.startsWith("-") && !before.includes("=") && secretName.test(before);
    return isAsked && !word.startsWith("-") ? hidden : address(word);
  });
}

/** A text under the name of a secret is one; in a number or a switch there is none. */
function named(value: unknown, name = ""): unknown {
  return texts(value, (text, at) => (secretName.test(at) ? hidden : address(text)), name);
}

function addressesMasked(value: unknown): unknown {
  return texts(value, address, "");
}

/** Every text inside, with the name that it stands under: the outermost of a secret, else its own. */
function texts(value: unknown, show: (text: string, name: string) => string, name: string): unknown {
  if (typeof value === "string") return show(value, name);
  if (Array.isArray(value)) return value.map((inner) => texts(inner, show, name));
  if (typeof value !== "object" || value === null) return value;
  const under = (key: string) => (secretName.test(name) ? name : key);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, texts(inner, show, under(key))]));
}

/** Without its password, and without what a parameter with a secret's name holds. */
function address(text: string): string {
  return maskedUrls(text).replace(parameter, `$1${hidden}`);
}
