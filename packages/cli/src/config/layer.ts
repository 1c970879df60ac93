/**
 * Which word counts: the command line before the project's file before the user's. Pure.
 *
 * Owns: precedence, and what a foreign project may say. Does not own: reading files, remembering trust. Invariants:
 * 1. The file of a project that is not trusted only narrows: it cannot make anything run, reach, cost or be shown that the user's own
 *    settings would not. What it says beyond that is named, never followed.
 * 2. A deny of any file stands, whatever another allows.
 * 3. Address and key belong to the model that they were written for: a model from a stronger layer takes none from a weaker one,
 *    or a key would be sent to somebody else's server.
 * 4. No project switches the sandbox off or says where sessions are kept, trusted or not.
 */
import type { PermissionRule } from "@pawl/core";
import {
  type Config,
  type Mode,
  modes,
  type Pricing,
  type ProviderConfig,
  type SandboxConfig,
  sandboxModes,
} from "./schema.ts";

export type Origin = "command line" | "environment" | "project" | "user" | "default";

export interface Layers {
  flags: Config;
  project: { config: Config; trusted: boolean };
  user: Config;
}

export interface Effective {
  model?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  window?: number;
  idleMs?: number;
  mode: Mode;
  /** In this order: of rules that match, the last decides between allow and ask. */
  permissions: PermissionRule[];
  /** Those of a project that is not trusted: they only add to what is asked or denied. */
  narrowing: PermissionRule[];
  sandbox: Required<SandboxConfig>;
  mcpServers: NonNullable<Config["mcpServers"]>;
  env: string[];
  providers: { [name: string]: ProviderConfig };
  pricing: { [model: string]: Pricing };
  currency: string;
  instructions: { project: string[]; user: string[] };
}

export interface Resolved {
  values: Effective;
  /** By key, and for lists each that adds to it. */
  origins: { [key: string]: Origin[] };
  /** Keys of the project's file that do not count, since the folder is not trusted; `sandbox.mode` and `store` also where it is. */
  passedOver: string[];
}

export function resolveConfig({ flags, project, user }: Layers): Resolved {
  const passedOver: string[] = [];
  const heard = project.trusted ? project.config : narrowed(project.config, user, passedOver);
  if (project.trusted && sandboxOf(project.config).mode === "off") passedOver.push("sandbox.mode");
  if (project.trusted && project.config.store !== undefined) passedOver.push("store");
  const layers: [Origin, Config][] = [
    ["command line", flags],
    ["project", heard],
    ["user", user],
  ];
  const origins: Resolved["origins"] = {};
  const first = <K extends keyof Config>(key: K, from = layers): Config[K] | undefined => {
    const found = from.find(([, config]) => config[key] !== undefined);
    if (found) origins[key] = [found[0]];
    return found?.[1][key];
  };
  const all = <K extends keyof Config>(key: K): NonNullable<Config[K]>[] => {
    const saying = layers.filter(([, config]) => config[key] !== undefined);
    if (saying.length > 0) origins[key] = saying.map(([origin]) => origin);
    // The weakest first, so that a spread lets the strongest win.
    return saying.reverse().map(([, config]) => config[key]) as NonNullable<Config[K]>[];
  };
  const merged = <K extends "mcpServers" | "providers" | "pricing">(key: K): NonNullable<Config[K]> =>
    Object.assign({}, ...all(key)) as NonNullable<Config[K]>;
  const modelLayer = layers.findIndex(([, config]) => config.model !== undefined);
  const besideModel = modelLayer < 0 ? layers : layers.slice(0, modelLayer + 1);
  const sandbox = sandboxFrom(layers, origins);
  const values: Effective = {
    ...present({
      model: first("model"),
      baseUrl: first("baseUrl", besideModel),
      apiKeyEnv: first("apiKeyEnv", besideModel),
      window: first("window"),
      idleMs: first("idleMs"),
    }),
    mode: first("mode") ?? "ask",
    permissions: project.trusted
      ? (all("permissions").flat() as PermissionRule[])
      : [...(user.permissions ?? []), ...(flags.permissions ?? [])],
    narrowing: project.trusted ? [] : (heard.permissions ?? []),
    sandbox,
    mcpServers: merged("mcpServers"),
    env: all("env").flat() as string[],
    providers: merged("providers"),
    pricing: merged("pricing"),
    currency: first("currency") ?? "USD",
    instructions: { project: heard.instructions ?? [], user: user.instructions ?? [] },
  };
  if (!project.trusted) all("permissions");
  all("instructions");
  return { values, origins, passedOver };
}

/** What a foreign file says that only narrows; the names of the rest go to `passedOver`. */
function narrowed(config: Config, user: Config, passedOver: string[]): Config {
  const heard: Config = {};
  for (const key of Object.keys(config) as (keyof Config)[]) {
    switch (key) {
      case "$schema":
        break;
      case "mode":
        if (config.mode === undefined) break;
        if (modes.indexOf(config.mode) <= modes.indexOf(user.mode ?? "ask")) heard.mode = config.mode;
        else passedOver.push("mode");
        break;
      case "permissions": {
        const strict = (config.permissions ?? []).filter(({ say }) => say !== "allow");
        if (strict.length > 0) heard.permissions = strict;
        if (strict.length < (config.permissions ?? []).length) passedOver.push("permissions (allow)");
        break;
      }
      case "sandbox": {
        const strict = narrowedSandbox(sandboxOf(config), sandboxOf(user), passedOver);
        if (Object.keys(strict).length > 0) heard.sandbox = strict;
        break;
      }
      default:
        passedOver.push(key);
    }
  }
  return heard;
}

function narrowedSandbox(
  { mode, network, writable, hidden }: SandboxConfig,
  user: SandboxConfig,
  passedOver: string[],
): SandboxConfig {
  const heard: SandboxConfig = {};
  if (mode !== undefined) {
    if (sandboxModes.indexOf(mode) >= sandboxModes.indexOf(user.mode ?? "auto")) heard.mode = mode;
    else passedOver.push("sandbox.mode");
  }
  if (network === false) heard.network = false;
  else if (network && user.network === false) passedOver.push("sandbox.network");
  if (writable && writable.length > 0) passedOver.push("sandbox.writable");
  if (hidden) heard.hidden = hidden;
  return heard;
}

function sandboxFrom(layers: readonly [Origin, Config][], origins: Resolved["origins"]): Effective["sandbox"] {
  const parts = layers.flatMap(([origin, config]) => {
    const { mode, ...rest } = sandboxOf(config);
    const said: SandboxConfig = origin === "project" && mode === "off" ? rest : sandboxOf(config);
    return Object.keys(said).length === 0 ? [] : [{ origin, said }];
  });
  if (parts.length > 0) origins["sandbox"] = parts.map(({ origin }) => origin);
  const said = parts.map((part) => part.said);
  return {
    mode: said.find(({ mode }) => mode !== undefined)?.mode ?? "auto",
    network: said.find(({ network }) => network !== undefined)?.network ?? true,
    writable: said.flatMap(({ writable }) => writable ?? []),
    hidden: said.flatMap(({ hidden }) => hidden ?? []),
  };
}

function sandboxOf({ sandbox }: Config): SandboxConfig {
  return typeof sandbox === "string" ? { mode: sandbox } : (sandbox ?? {});
}

/** Without what is undefined. */
export function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
