import { createSession, createWorker } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { postQueue, sendFailedTurns } from "@pawl/pg-boss";
import { postgresStore } from "@pawl/postgres";
import { PgBoss } from "pg-boss";

const url = process.env["DATABASE_URL"] ?? "postgres://localhost/pawl";
const store = await postgresStore({ url });
const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
const boss = await new PgBoss(url).on("error", console.error).start();

// In every worker process: the queue's jobs become posts, and a post wakes the worker.
const posts = await postQueue({ boss, runtime, onError: (error, { fate }) => console.error(fate, error) });
const stop = await posts.work({ pollSeconds: 0.5 });
const agent = () => ({ model: scriptedModel([[...say("It rains."), finish()]]) }); // your model and tools
const worker = createWorker({ runtime, agent, wake: posts.wake });

// Anywhere: in a second, tomorrow, each morning.
const session = await createSession(runtime);
await posts.send(session.id, { input: "How is the weather?" }, { after: 1 });
await posts.send(session.id, { input: "And today?" }, { after: new Date(Date.now() + 86_400_000) });
await posts.schedule({ key: "morning", at: "0 7 * * *", timezone: "Europe/Oslo", input: "Sum up the night." });

for await (const { event } of session.follow({ signal: AbortSignal.timeout(30_000) })) {
  if (event.type === "turn.ended") break;
}
console.log((await session.summary())?.head.outcome);

// Now and then: turns that did not complete, each as one job.
await boss.createQueue("pawl-failed-turns");
console.log(await sendFailedTurns({ boss, runtime }), "turns failed");

await stop();
await worker.drain();
await boss.stop();
await store.close();
