/** A script of the bench in a process of its own. */
import { spawn } from "node:child_process";

/** What it prints on stdout. Rejects for any exit but 0, after the process is gone. */
export function outputOf(script: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, ["--expose-gc", script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    signal,
    killSignal: "SIGKILL",
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  // Stopped by us, or not started at all: `close` follows and says so.
  child.on("error", () => {});
  child.on("close", (code, killed) => {
    if (code === 0) resolve(text);
    else reject(new Error(`${args.slice(0, 2).join(" ")} ended with ${killed ?? `exit code ${code}`}`));
  });
  return promise;
}
