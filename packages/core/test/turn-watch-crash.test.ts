import { watchingThroughCrashes } from "./turn-watch-crash-suite.ts";
import { TurnWorld } from "./turn-world.ts";

watchingThroughCrashes("memory", { world: async () => new TurnWorld() });
