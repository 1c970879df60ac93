/**
 * Which process this is, so that another one later can tell whether it still lives: its number alone will be given again.
 * The shape is the runtime's holder of a lease, and `isAlive` of `@pawl/core/node` judges it.
 *
 * The supervisor loads this: it imports nothing but Node.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "@pawl/core";
import { processStat } from "./process-group.ts";

export function thisProcess(): Holder {
  return {
    id: randomUUID(),
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    start: processStat(process.pid)?.start ?? "unknown",
  };
}

/** Linux; elsewhere `isAlive` says that it does not know, and whoever waits is bounded by time. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}
