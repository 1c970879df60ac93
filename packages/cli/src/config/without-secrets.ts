/** A configuration as it can be shown to others: keys, and what looks like one, stay with whoever wrote them. */
import { maskedUrls } from "../masked-url.ts";
import type { Loaded } from "./load.ts";

type Shown = { [key: string]: unknown };

const hidden = "…";
const secretName = /key|token|secret|passw|credential|auth/i;

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

/** `--api-key=…`, `KEY=…`, and what follows `--token`. */
function argumentsShown(args: readonly string[]): string[] {
  return args.map((word, at) => {
    const [, name = "", value] = /^([^=\s]*)=(.*)$/s.exec(word) ?? [];
    if (value !== undefined && secretName.test(name)) return `${name}=${hidden}`;
    const before = args[at - 1] ?? "";
    const isAsked = before.startsWith("-") && !before.includes("=") && secretName.test(before);
    return isAsked && !word.startsWith("-") ? hidden : maskedUrls(word);
  });
}

/** A text under the name of a secret is one; in a number or a switch there is none. */
function named(value: unknown, name = ""): unknown {
  if (typeof value === "string") return secretName.test(name) ? hidden : maskedUrls(value);
  if (Array.isArray(value)) return value.map((inner) => named(inner, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, named(inner, secretName.test(name) ? name : key)]),
  );
}

function addressesMasked(value: unknown): unknown {
  if (typeof value === "string") return maskedUrls(value);
  if (Array.isArray(value)) return value.map(addressesMasked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, addressesMasked(inner)]));
}
