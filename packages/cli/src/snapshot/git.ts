/**
 * Git as a tool of ours: started without the variables that steer it, and in a repository of ours without any configuration but
 * ours, so that no hook, attribute or setting of a person changes what a snapshot is, and nothing of theirs is written.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { PawlError } from "@pawl/core";

/** What of an error is worth a line. */
const stderrChars = 4_000;

export interface GitPlace {
  /** Where git runs. */
  cwd: string;
  /** The repository. Without one, git looks for the person's own, and only reads there. */
  dir?: string;
  workTree?: string;
  index?: string;
}

export interface GitRun {
  input?: string | Buffer;
  signal?: AbortSignal;
  /** Besides 0: exit codes that are an answer. */
  allowed?: readonly number[];
}

/** What no configuration file can say otherwise. */
const settings = [
  "core.bare=false",
  "core.fileMode=true",
  "core.symlinks=true",
  "core.ignoreCase=false",
  "core.precomposeUnicode=false",
  "core.autocrlf=false",
  "core.protectNTFS=false",
  "core.protectHFS=false",
  "core.hooksPath=/dev/null",
  "core.attributesFile=/dev/null",
  "core.quotePath=false",
  "core.fsync=committed",
  "core.fsyncMethod=batch",
  "index.version=4",
  "gc.auto=0",
].flatMap((setting) => ["-c", setting]);
/** A name means itself, whatever signs are in it. Not every command of git knows this one. */
const literal = "--literal-pathspecs";

/** A repository can name a program as its file watcher; looking must not run it. */
const always = ["-c", "core.fsmonitor=false", "--no-replace-objects"];

export function gitArguments({ dir }: GitPlace, args: readonly string[]): string[] {
  return [...always, ...(dir === undefined ? [] : [...settings, literal]), ...args];
}

export function gitEnvironment({ dir, workTree, index }: GitPlace): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")),
  );
  Object.assign(env, { LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0", GIT_ATTR_NOSYSTEM: "1" });
  // Of the person's own repository, their configuration says what is ignored and whom they trust.
  if (dir === undefined) return env;
  const who = {
    GIT_AUTHOR_NAME: "pawl",
    GIT_AUTHOR_EMAIL: "pawl",
    GIT_COMMITTER_NAME: "pawl",
    GIT_COMMITTER_EMAIL: "pawl",
    // The same files have the same name, whenever they were kept.
    GIT_AUTHOR_DATE: "@1 +0000",
    GIT_COMMITTER_DATE: "@1 +0000",
  };
  return {
    ...env,
    ...who,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_DIR: dir,
    ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
  };
}

/** Standard output. Fails with NOT_SUPPORTED where there is no git, STORE_FULL or an Error with git's words. */
export function git(place: GitPlace, args: readonly string[], run: GitRun = {}): Promise<Buffer> {
  const { input, signal, allowed = [] } = run;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const child = spawn("git", gitArguments(place, args), {
    cwd: place.cwd,
    env: gitEnvironment(place),
    stdio: ["pipe", "pipe", "pipe"],
    killSignal: "SIGKILL",
    ...(signal ? { signal } : {}),
  });
  const out: Buffer[] = [];
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-stderrChars);
  });
  // Git that ends before it has read everything says why by its exit code.
  child.stdin.on("error", () => {}).end(input);
  child.once("error", (error) => reject(signal?.aborted ? error : startFailure(error, place)));
  child.once("close", (code, killed) => {
    if (code === 0 || (code !== null && allowed.includes(code))) resolve(Buffer.concat(out));
    else reject(gitFailure(args, code ?? killed ?? "?", said));
  });
  return promise;
}

function startFailure(cause: NodeJS.ErrnoException, { cwd }: GitPlace): Error {
  if (cause.code !== "ENOENT") return cause;
  if (!existsSync(cwd))
    return new PawlError("INVALID_INPUT", `the folder ${cwd} is gone; bring it back to its place`, { cause });
  return new PawlError("NOT_SUPPORTED", "git was not found: snapshots of a folder need it; install git", { cause });
}

function gitFailure(args: readonly string[], code: number | string, said: string): Error {
  const words = said.trim().split("\n").slice(-3).join("; ") || "without a word";
  const text = `git ${args.find((word) => /^[a-z]/.test(word)) ?? ""} ended with ${code}: ${words}`;
  return /no space left|disk quota|file too large/i.test(said) ? new PawlError("STORE_FULL", text) : new Error(text);
}

/** Names are bytes: as text of one character a byte, so that any name survives. */
export function bytesOf(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

export function pathsOf(output: Buffer): string[] {
  return output.toString("latin1").split("\0").slice(0, -1);
}

export function nulEnded(paths: readonly string[]): Buffer {
  return bytesOf(paths.map((path) => `${path}\0`).join(""));
}

/** A name as people read it. */
export function readablePath(path: string): string {
  return bytesOf(path).toString("utf8");
}
