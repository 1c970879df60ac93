/** Workers, one in each process: they claim whatever has something to do, and are drained now and then. */
import { createWorker, type Worker } from "@pawl/core";
import type { People } from "./people.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { Referee } from "./referee.ts";

export class Crew {
  readonly #town: People;
  readonly #referee: Referee;
  readonly #random: Random;
  readonly #chance: number;
  #workers: { worker: Worker; process: Process }[] = [];

  constructor(town: People, referee: Referee, random: Random, chance: number) {
    this.#town = town;
    this.#referee = referee;
    this.#random = random;
    this.#chance = chance;
  }

  hire(process: Process): void {
    const most = 1 + this.#random.below(3);
    const worker = createWorker({
      runtime: process.runtime,
      concurrency: most,
      pollMs: 3_000,
      agent: ({ id }) => {
        if (worker.driving.length > most) this.#referee.breach("L8", id, `${process.name} drives more than ${most}`);
        if (this.#town.wild && this.#random.chance(this.#chance)) throw new Error("no agent today");
        return this.#town.agent(process, id);
      },
      onError: (error, session) => {
        if ((error as Error).message !== "no agent today") this.#town.met(error, `worker of ${session}`);
      },
    });
    this.#workers.push({ worker, process });
  }

  /** One of them is sent home. */
  drainOne(): void {
    const at = this.#random.below(this.#workers.length || 1);
    const [one] = this.#workers.splice(at, 1);
    if (one) this.#drain(one).catch((error: unknown) => this.#town.met(error, "drain"));
  }

  /** Those that live. */
  async drainAll(): Promise<void> {
    const left = this.#workers.splice(0).filter(({ process }) => process.alive);
    await Promise.all(left.map((one) => this.#drain(one)));
  }

  get isEmpty(): boolean {
    return !this.#workers.some(({ process }) => process.alive);
  }

  async #drain({ worker, process }: { worker: Worker; process: Process }): Promise<void> {
    await worker.drain();
    this.#referee.witness.drained(process.name);
    for (const session of worker.driving)
      this.#referee.breach("L8", session, `${process.name} was drained, and drives still`);
  }
}
