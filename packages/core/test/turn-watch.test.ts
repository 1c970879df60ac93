import { watching } from "./turn-watch-suite.ts";
import { TurnWorld } from "./turn-world.ts";

watching("memory", { world: async () => new TurnWorld() });
