/** Core's tests of watching from another process, a sample where they are many, on a real PostgreSQL. */
import { after } from "node:test";
import { watchingThroughCrashes } from "../../core/test/turn-watch-crash-suite.ts";
import { watchingAnyRun } from "../../core/test/turn-watch-random-suite.ts";
import { watching } from "../../core/test/turn-watch-suite.ts";
import { turnGround } from "./turn-ground.ts";

const [heard, unheard] = await Promise.all([turnGround("own"), turnGround("pooled")]);
after(() => Promise.all([heard.end(), unheard.end()]));

watching("postgres", unheard);
watchingThroughCrashes("postgres", { ...heard, oneOf: 9 });
watchingAnyRun("postgres", { ...heard, oneOf: 10 });
