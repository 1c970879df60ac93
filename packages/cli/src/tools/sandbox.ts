/**
 * Where commands run: in a sandbox of the system's if one really starts here, or as they are.
 *
 * Owns: what is hidden, the private `/tmp`, the proof that it works. Does not own: the arguments (bubblewrap), permission to run at
 * all. A sandbox that was asked for and cannot start is never passed over in silence.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { SandboxConfig } from "../config/schema.ts";
import { bubblewrapArguments, type Hidden } from "./bubblewrap.ts";
import { findProgram } from "./program.ts";
import { within } from "./workspace.ts";

export interface SandboxOptions extends Required<SandboxConfig> {
  cwd: string;
  /** Of Pawl itself: the store, configuration, state. */
  own: readonly string[];
  /** Folders that are seen inside of what is hidden: skills. Real paths. */
  visible?: readonly string[];
  env: NodeJS.ProcessEnv;
}

export interface Sandbox {
  /** What stands before a command; empty: nothing. */
  wrap: readonly string[];
  /** What is different in its environment. */
  env: NodeJS.ProcessEnv;
  /** Commands are refused, for this reason. */
  refuses?: string;
  /** One line for the person. */
  notice?: string;
}

export const noSandbox: Sandbox = { wrap: [], env: {} };

/** Keys, tokens and histories, below the home folder. */
const secrets = [
  ...[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".oci",
  ],
  ...[
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
  ],
  ...[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
  ],
  ...[
    ".terraform.d/credentials.tfrc.json",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
  ],
  ...[".config/chromium", ".config/BraveSoftware", ".thunderbird", ".bash_history", ".zsh_history", ".python_history"],
  ...[
    ".node_repl_history",
    ".psql_history",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/opencode",
    ".local/share/opencode",
  ],
];

/** It starts in milliseconds; a machine under load gets more. */
const probeMs = 10_000;

/** Starts a sandbox once to know that it works. Never rejects. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { mode, env, hidden } = options;
  if (mode === "off") return noSandbox;
  const program = findProgram("bwrap", env);
  if (program === undefined) return without(mode, "bubblewrap (bwrap) is not installed");
  const started = await start(program, options);
  if (typeof started !== "string") return { wrap: started, env: environmentOf(options) };
  // A project that nobody trusts may say what is to be hidden. Were it the programs of the system, `auto` would run without a sandbox.
  const isTooMuch = hidden.length > 0 && typeof (await start(program, { ...options, hidden: [] })) !== "string";
  return isTooMuch ? unstartable(hidden, started) : without(mode, started);
}

/** What stands before a command, or why it does not start. */
async function start(program: string, options: SandboxOptions): Promise<string[] | string> {
  let temporary: string | undefined;
  try {
    temporary = temporaryFolder();
    const { network, env } = options;
    const confinement = { ...placesOf(options), visible: insideHidden(options), temporary, network };
    const wrap = [program, ...bubblewrapArguments(confinement)];
    await promisify(execFile)(program, [...wrap.slice(1), "/bin/sh", "-c", "exit 0"], {
      timeout: probeMs,
      env: { PATH: env["PATH"] },
    });
    return wrap;
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
    return reasonOf(error);
  }
}

const temporaries = new Set<string>();

/** It goes with this process. After a kill it stays among the temporary files, as everybody's does. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-tmp-"));
  if (temporaries.size === 0)
    process.once("exit", () => {
      for (const one of temporaries) rmSync(one, { recursive: true, force: true, maxRetries: 2 });
    });
  temporaries.add(folder);
  return folder;
}

function without(mode: "auto" | "require", why: string): Sandbox {
  if (mode === "auto")
    return {
      ...noSandbox,
      notice: `commands run without a sandbox: ${why} (sandbox: "off" in your configuration says that this is meant)`,
    };
  const refuses = `commands are refused: a sandbox is required, and ${why}`;
  return { ...noSandbox, refuses, notice: `${refuses}. Install it, or run with --sandbox off` };
}

function unstartable(hidden: readonly string[], why: string): Sandbox {
  const paths = hidden.map((path) => JSON.stringify(path)).join(", ");
  const refuses = `commands are refused: with sandbox.hidden ${paths} the sandbox cannot start: ${why}`;
  return { ...noSandbox, refuses, notice: `${refuses}. Take out what every command needs, or run with --sandbox off` };
}

function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const first = (stderr?.trim() || message || String(error)).split("\n")[0] ?? "";
  return `it does not start here (${first.slice(0, 200)})`;
}

/** Only what is there: bubblewrap could not cover a path that is not. */
export function placesOf({ cwd, own, writable, hidden }: Pick<SandboxOptions, "cwd" | "own" | "writable" | "hidden">): {
  workspace: string;
  writable: string[];
  hidden: Hidden[];
} {
  const workspace = realpathSync(cwd);
  const open = writable.flatMap((path) => real(path, workspace) ?? []);
  const wanted = [...secrets.map((path) => join(homedir(), path)), ...own, ...hidden];
  const covered = wanted.flatMap((path) => {
    const place = real(path, workspace);
    // What contains the workspace cannot be hidden from it; what was given for writing is wanted.
    if (place === undefined || within(place, workspace) || open.includes(place)) return [];
    return [{ path: place, kind: statSync(place).isDirectory() ? ("folder" as const) : ("file" as const) }];
  });
  // The outer ones first, once each: what lies in a covered folder is not there any more.
  const ordered = covered.sort((a, b) => a.path.length - b.path.length);
  const kept = ordered.filter(({ path }, at) => !ordered.slice(0, at).some((outer) => within(outer.path, path)));
  return { workspace, writable: open, hidden: kept };
}

/** The others are seen anyway, and one in the workspace must stay writable. */
function insideHidden(options: SandboxOptions): string[] {
  const { hidden } = placesOf(options);
  return (options.visible ?? []).filter((path) => hidden.some((place) => within(place.path, path)));
}

/** Relative paths are the workspace's. */
function real(path: string, cwd: string): string | undefined {
  try {
    return realpathSync(path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : resolve(cwd, path));
  } catch {
    return undefined;
  }
}

/** Caches in the home folder cannot be written: builds get one in `/tmp`, which lasts as long as this process. */
function environmentOf({ writable, cwd }: SandboxOptions): NodeJS.ProcessEnv {
  const open = writable.flatMap((path) => real(path, cwd) ?? []);
  const isOpen = (path: string) => open.some((folder) => within(folder, real(path, cwd) ?? path));
  return {
    TMPDIR: "/tmp",
    ...(isOpen("~/.cache") ? {} : { XDG_CACHE_HOME: "/tmp/.cache" }),
    ...(isOpen("~/.npm") ? {} : { npm_config_cache: "/tmp/.cache/npm" }),
  };
}

/** A failure that the sandbox may be the reason of is explained: without it a model tries the same again. */
export function sandboxNote(text: string): string {
  if (!/Read-only file system|EROFS|Could not resolve host|Network is unreachable|EAI_AGAIN/i.test(text)) return "";
  return "\n[commands run in a sandbox: only the workspace and /tmp can be written, and the network may be off. If this command needs more, say so: the person can allow it in the configuration (sandbox.writable, sandbox.network)]";
}
