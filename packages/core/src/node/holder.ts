/**
 * Who we are to others on this host, and whether another holder still lives. A pid alone does not tell: it is reused,
 * after a container's restart at once; so its start time and the host's boot go with it.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "../store/store.ts";

export function thisHolder(): Holder {
  return {
    id: randomUUID(),
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    start: startOf(process.pid) ?? "unknown",
  };
}

/** False: surely dead. Undefined: not to be known from here (another host, or a system that tells no start times). */
export function isAlive(holder: Holder): boolean | undefined {
  if (holder.host !== hostname()) return undefined;
  if (holder.boot !== bootId()) return false;
  if (!exists(holder.pid)) return false;
  const start = startOf(holder.pid);
  if (start === undefined || holder.start === "unknown") return undefined;
  return start === holder.start;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Linux: field 22 of /proc/<pid>/stat, clock ticks since boot. The name before it may hold spaces and brackets. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie holds its pid and drives nothing.
    return fields[0] === "Z" ? "dead" : fields[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}
