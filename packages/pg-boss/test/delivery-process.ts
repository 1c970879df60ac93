/**
 * A process that takes the jobs of a queue and never gets further than the store's word: `URL QUEUE`. It says `posted ID` when
 * a post is durable; then pg-boss waits for an answer that does not come, until somebody kills it.
 */
import { nodeEffects, thisHolder } from "@pawl/core/node";
import type { Post, Store } from "@pawl/core/store";
import { postgresStore } from "@pawl/postgres";
import { postQueue } from "../src/index.ts";
import { startBoss } from "./ground.ts";

const [url = "", name = ""] = process.argv.slice(2);
const store = await postgresStore({ url, connections: 2 });

const post = async (session: string, given: Post): Promise<never> => {
  const answer = await store.post(session, given);
  process.stdout.write(`posted ${given.id} ${answer}\n`);
  return new Promise<never>(() => {});
};
const halting = new Proxy(store, {
  get(target, member) {
    const value: unknown = Reflect.get(target, member);
    if (member === "post") return post;
    return typeof value === "function" ? value.bind(target) : value;
  },
}) as Store;

const runtime = { store: halting, effects: nodeEffects(), holder: thisHolder() };
const queue = await postQueue({ boss: await startBoss(url), runtime, name });
await queue.work({ pollSeconds: 0.5 });
