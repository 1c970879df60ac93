/**
 * A command and all that it started, as far as the system lets us hold them together.
 *
 * A child started with `detached` leads a group of its own, and its children stay in it unless they leave on purpose (`setsid`).
 * Those that left are found by a mark in their environment (Linux only) and are named, not killed: they asked for a life of their own.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { visibleLine } from "./text.ts";

/** The variable that marks a command and its descendants. */
export const markName = "PAWL_COMMAND";

export interface Member {
  pid: number;
  /** The start of its command line. */
  command: string;
}

/** TERM, at most `termGraceMs`, KILL, at most `killGraceMs`: together below the runtime's grace for a tool that was told to stop. */
export const termGraceMs = 2_000;
const killGraceMs = 1_000;
/** Most end at once at TERM; a slow one is looked at less often. */
const firstPollMs = 1;
const pollMs = 20;
/** Runtime exit holds up the terminal: a shell gets this long to tidy up. */
export const exitGraceMs = 300;
const commandChars = 80;

/** Ends the group; resolves once it is gone or has outlived KILL. Never throws. */
export async function endGroup(pgid: number, graceMs: number): Promise<void> {
  sendSignal(pgid, "SIGTERM");
  if (await gone(pgid, graceMs)) return;
  sendSignal(pgid, "SIGKILL");
  await gone(pgid, killGraceMs);
}

/** Live processes of the group, and of those marked with `mark` that have left it. */
export function liveMembers(pgid: number, mark: string): { group: Member[]; left: Member[] } {
  if (process.platform !== "linux") return { group: groupExists(pgid) ? listed(pgid) : [], left: [] };
  const group: Member[] = [];
  const left: Member[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = processStat(pid);
    if (stat === undefined || stat.dead || isSandbox(pid)) continue;
    if (stat.pgid === pgid) group.push({ pid, command: commandLine(pid) });
    else if (isMarked(pid, mark)) left.push({ pid, command: commandLine(pid) });
  }
  return { group, left };
}

/** Whether the group's number still means the command: numbers are given again. Where that cannot be told, it does not. */
export function hasMarkedMember(pgid: number, mark: string): boolean {
  if (process.platform !== "linux" || !groupExists(pgid)) return false;
  return readdirSync("/proc").some(
    (name) => /^\d+$/.test(name) && processStat(Number(name))?.pgid === pgid && isMarked(Number(name), mark),
  );
}

/** Whether the process lives: one that is dead and not collected does not. */
export function isRunning(pid: number): boolean {
  if (process.platform === "linux") return processStat(pid)?.dead === false;
  try {
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}

/** `4711 (sleep 60), 4712 (vite)`. */
export function named(members: Member[]): string {
  const shown = members.slice(0, 10).map(({ pid, command }) => `${pid} (${command})`);
  return shown.join(", ") + (members.length > shown.length ? `, and ${members.length - shown.length} more` : "");
}

function sendSignal(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch {
    // Gone already, or no longer ours: what is left is found by looking, not by this answer.
  }
}

/** Whether the group has a process, dead ones that nobody has collected included. */
function groupExists(pgid: number): boolean {
  try {
    process.kill(-pgid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function gone(pgid: number, withinMs: number): Promise<boolean> {
  let pause = firstPollMs;
  for (let waited = 0; ; waited += pause) {
    if (!groupExists(pgid) || !hasLiveMember(pgid)) return true;
    if (waited >= withinMs) return false;
    if (waited > 0) pause = Math.min(pollMs, 2 * pause);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** In a container without an init that collects orphans, the dead stay listed for ever. */
function hasLiveMember(pgid: number): boolean {
  if (process.platform !== "linux") return true;
  return readdirSync("/proc").some((name) => {
    const stat = /^\d+$/.test(name) ? processStat(Number(name)) : undefined;
    return stat !== undefined && stat.pgid === pgid && !stat.dead;
  });
}

export function processStat(pid: number): { pgid: number; dead: boolean; start: string | undefined } | undefined {
  const text = procFile(pid, "stat");
  // The second field is the name in parentheses, and may itself hold both blanks and parentheses.
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined) return undefined;
  return { pgid: Number(fields[2]), dead: fields[0] === "Z" || fields[0] === "X", start: fields[19] };
}

/** It lives as long as something runs in it, and would hide what that is. */
function isSandbox(pid: number): boolean {
  return procFile(pid, "comm")?.trim() === "bwrap";
}

function isMarked(pid: number, mark: string): boolean {
  return procFile(pid, "environ")?.split("\0").includes(`${markName}=${mark}`) ?? false;
}

function commandLine(pid: number): string {
  const line = procFile(pid, "cmdline")?.split("\0").join(" ").trim() || procFile(pid, "comm")?.trim() || "?";
  return visibleLine(line.slice(0, commandChars));
}

function procFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return undefined; // it has ended, or belongs to another user
  }
}

function listed(pgid: number): Member[] {
  try {
    const table = execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat=,command="], {
      encoding: "utf8",
      timeout: killGraceMs,
    });
    return table.split("\n").flatMap((row) => {
      const [, pid, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? [];
      if (Number(group) !== pgid || state?.startsWith("Z")) return [];
      return [{ pid: Number(pid), command: visibleLine((command ?? "?").slice(0, commandChars)) }];
    });
  } catch {
    return [{ pid: pgid, command: "process group" }];
  }
}
