import { universalCrash } from "./turn-crash-suite.ts";
import { TurnWorld } from "./turn-world.ts";

universalCrash("memory", { world: async () => new TurnWorld() });
