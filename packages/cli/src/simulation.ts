/** `pawl simulate`: the whole runtime through seeded faults. It is part of the repository, and of no package. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "@pawl/core";

const program = join(import.meta.dirname, "..", "..", "simulation", "src", "main.ts");

/** Resolves with its exit code. Fails with NOT_SUPPORTED where there is no clone. */
export async function simulate(args: readonly string[]): Promise<number> {
  if (!existsSync(program)) {
    throw new PawlError(
      "NOT_SUPPORTED",
      `the simulation is not installed with pawl (looked for ${program}); in a clone of the repository: npm run simulate`,
    );
  }
  const child = spawn(process.execPath, [program, ...args], { stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
