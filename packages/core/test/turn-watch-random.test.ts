import { watchingAnyRun } from "./turn-watch-random-suite.ts";
import { TurnWorld } from "./turn-world.ts";

watchingAnyRun("memory", { world: async () => new TurnWorld() });
