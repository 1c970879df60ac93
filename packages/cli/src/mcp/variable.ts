/**
 * `${NAME}` and `${NAME:-default}` in what a configuration says of a server, as other agents read them: so that a key is in
 * the environment and not in a file that is shared. Pure.
 */
import { PawlError } from "@pawl/core";
import type { ServerConfig } from "./server-config.ts";

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Every text of it with its variables filled in. Throws INVALID_INPUT that names the one that is missing, and where. */
export function withVariables(config: ServerConfig, env: NodeJS.ProcessEnv, server: string): ServerConfig {
  const fill = (text: string, place: string) =>
    text.replace(reference, (whole, name: string, otherwise: string | undefined) => {
      const value = env[name] ?? otherwise;
      if (value !== undefined) return value;
      throw new PawlError(
        "INVALID_INPUT",
        `MCP server ${JSON.stringify(server)}: ${place} needs the environment variable ${name}, which is not set: ` +
          `set it, or write \${${name}:-a default} in place of ${whole}`,
      );
    });
  const fillAll = (values: Record<string, string> | undefined, place: string) =>
    Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, fill(value, `${place}.${name}`)]));
  if ("url" in config) return { ...config, url: fill(config.url, "url"), headers: fillAll(config.headers, "headers") };
  return {
    ...config,
    command: fill(config.command, "command"),
    args: (config.args ?? []).map((arg, at) => fill(arg, `args[${at}]`)),
    env: fillAll(config.env, "env"),
    ...(config.cwd === undefined ? {} : { cwd: fill(config.cwd, "cwd") }),
  };
}

/** What a program needs to find its files, its language and its friends; nothing that could be a key. */
const inherited = /^(HOME|LOGNAME|USER|SHELL|PATH|TERM|TMPDIR|TZ|LANG|LC_[A-Z]+|XDG_[A-Z_]+)$/;

/** The environment of a server: the small, safe part of ours, and what its configuration adds. */
export function serverEnvironment(env: NodeJS.ProcessEnv, added: Record<string, string> = {}): Record<string, string> {
  const safe = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && inherited.test(entry[0]),
  );
  return { ...Object.fromEntries(safe), ...added };
}
