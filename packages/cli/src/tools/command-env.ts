/**
 * The environment that commands get: that of this process without what looks like a key. A command is written by a model,
 * which may have been told by a web page to print them.
 */
import { isStoreUrl } from "../store-url.ts";
import type { Secret } from "./secret-mask.ts";

/**
 * By the end of the name, in any case: keys of model providers (`OPENAI_API_KEY`), tokens (`HF_TOKEN`), cloud credentials
 * (`AWS_SECRET_ACCESS_KEY`). Passwords stay: they mostly are those of local test databases (`PGPASSWORD`).
 */
const secret = /(^|_)(API_?KEYS?|TOKENS?|SECRETS?(_KEY)?|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$/i;

/** Of this process only: a test runner that finds it in its environment takes itself for a part of another's. */
const ours = new Set(["NODE_TEST_CONTEXT"]);

/** Names, parted by commas, that commands get all the same: `PAWL_ALLOW_ENV=GITHUB_TOKEN,NPM_TOKEN`. */
const allowName = "PAWL_ALLOW_ENV";

/** A copy of `env` without what looks like a secret. `allow` (default: what `PAWL_ALLOW_ENV` says) names exceptions. */
export function commandEnvironment(
  env: NodeJS.ProcessEnv,
  allow: readonly string[] = (env[allowName] ?? "").split(","),
): NodeJS.ProcessEnv {
  const allowed = new Set(allow.map((name) => name.trim()));
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => allowed.has(name) || !(ours.has(name) || secret.test(name) || isServerStore(name, value)),
    ),
  );
}

/** Whoever reaches the database reaches every session: a folder is hidden by the sandbox, an address by not being told. */
function isServerStore(name: string, value: string | undefined): boolean {
  return name === "PAWL_STORE" && value !== undefined && isStoreUrl(value);
}

/** The names that `PAWL_ALLOW_ENV` lets through, and others. */
export function allowedNames(env: NodeJS.ProcessEnv, others: readonly string[]): string[] {
  return [...(env[allowName] ?? "").split(","), ...others];
}

/** What commands do not get of `env`: nor should its values be told by another way. */
export function withheldSecrets(env: NodeJS.ProcessEnv, allow: readonly string[]): Secret[] {
  const passed = commandEnvironment(env, allow);
  return Object.entries(env).flatMap(([name, value]) =>
    value === undefined || name in passed || ours.has(name) ? [] : [{ name, value }],
  );
}
