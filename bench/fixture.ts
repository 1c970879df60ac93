/**
 * What rows read and do not make: built once a run, each in a process of its own, in a folder that goes with the run. And what
 * they talk to: a server, started once a run.
 *
 * Nothing is kept from one run to the next: a fixture of another build would be measured without anybody noticing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputOf } from "./child.ts";

const makers = {
  sessions: async () => (await import("./sessions.ts")).make,
  catalogue: async () => (await import("./catalogue.ts")).make,
} satisfies { [name: string]: () => Promise<(dir: string) => Promise<void>> };

/** What runs as long as the bench does, and where cases find it. */
interface Service {
  place: string;
  end(): Promise<void>;
}

const starters = {
  postgres: async () => (await import("./postgres-server.ts")).start,
} satisfies { [name: string]: () => Promise<(parent: string) => Promise<Service>> };

export type FixtureName = keyof typeof makers | keyof typeof starters;

const makeMs = 180_000;
const makeFile = fileURLToPath(new URL("./make.ts", import.meta.url));

export class Fixtures {
  readonly #dir: string;
  readonly #signal: AbortSignal;
  readonly #folders = new Map<FixtureName, string>();
  readonly #services = new Map<FixtureName, Service>();

  constructor(dir: string, signal: AbortSignal) {
    this.#dir = dir;
    this.#signal = signal;
  }

  /** A folder, or a server's address. */
  async placeOf(name: FixtureName): Promise<string> {
    return name in starters
      ? this.#serviceOf(name as keyof typeof starters)
      : this.#folderOf(name as keyof typeof makers);
  }

  async #serviceOf(name: keyof typeof starters): Promise<string> {
    const service = this.#services.get(name) ?? (await (await starters[name]())(this.#dir));
    this.#services.set(name, service);
    return service.place;
  }

  async #folderOf(name: keyof typeof makers): Promise<string> {
    const made = this.#folders.get(name);
    if (made !== undefined) return made;
    const folder = await mkdtemp(join(this.#dir, `pawl-bench-${name}-`));
    try {
      await outputOf(makeFile, [name, folder], AbortSignal.any([this.#signal, AbortSignal.timeout(makeMs)]));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    this.#folders.set(name, folder);
    return folder;
  }

  async remove(): Promise<void> {
    for (const service of this.#services.values()) await service.end();
    for (const folder of this.#folders.values()) await rm(folder, { recursive: true, force: true });
  }
}

/** In the process that makes it. */
export async function makeFixture(name: string, dir: string): Promise<void> {
  if (!Object.hasOwn(makers, name) || dir === "") throw new Error(`usage: make.ts FIXTURE FOLDER, got ${name} ${dir}`);
  const make = await makers[name as keyof typeof makers]();
  await make(dir);
}
