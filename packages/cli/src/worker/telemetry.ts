/**
 * A module of the user's own that hears what a worker does: `@pawl/otel` with their SDK and exporters, or anything else. The
 * `pawl` command brings none of it and sends nothing by itself.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { PawlError, type Session, type WorkerEvent } from "@pawl/core";

/** What the module's `worker({ open })` gives. */
export interface Telemetry {
  on(event: WorkerEvent): void;
  /** Sends what is still held back; waited for at the end. */
  close?(): Promise<void> | void;
}

/** Fails with INVALID_INPUT for a file that is no such module. */
export async function loadTelemetry(
  file: string | undefined,
  open: (session: string) => Promise<Session>,
): Promise<Telemetry | undefined> {
  if (file === undefined) return undefined;
  const path = resolve(file);
  const refuse = (what: string, cause?: unknown) =>
    new PawlError("INVALID_INPUT", `--telemetry ${path} ${what}; docs/worker.md shows one`, { cause });
  let made: unknown;
  try {
    const module = (await import(pathToFileURL(path).href)) as { worker?: (tools: object) => unknown };
    if (typeof module.worker !== "function") throw refuse("exports no function `worker`");
    made = await module.worker({ open });
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    throw refuse(`could not be loaded (${cause instanceof Error ? cause.message : String(cause)})`, cause);
  }
  if (typeof (made as Telemetry | null)?.on !== "function") throw refuse("gives nothing with a function `on`");
  return made as Telemetry;
}
