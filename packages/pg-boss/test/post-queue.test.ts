/** Posts through a real pg-boss on a real PostgreSQL: later, on a schedule, delivered twice, not deliverable. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createSession, createWorker, PawlError, type Runtime } from "@pawl/core";
import type { Store } from "@pawl/core/store";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import pg from "pg";
import { type PostQueueOptions, postQueue } from "../src/index.ts";
import { startGround, until } from "./ground.ts";

const { boss, runtime, url, end } = await startGround();
after(end);

let queues = 0;
async function queue(more: Partial<PostQueueOptions> = {}) {
  queues += 1;
  return postQueue({ boss, runtime, name: `posts-${queues}`, ...more });
}

const often = { pollSeconds: 0.5 };
const timeout = 60_000;

async function mail(session: string) {
  return (await runtime.store.mailbox(session)).map(({ id, kind, body }) => ({ id, kind, body }));
}

function textOf(input: string) {
  return { content: [{ type: "text", text: input }] };
}

async function deadLetter(name: string) {
  return until(async () => (await boss.findJobs(name))[0]);
}

/** A store of which `post` does something else first. */
function withPost(first: () => Promise<void>): Runtime {
  const post: Store["post"] = async (session, given) => {
    await first();
    return runtime.store.post(session, given);
  };
  const store = new Proxy(runtime.store, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member);
      if (member === "post") return post;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { ...runtime, store };
}

describe("a delayed turn", () => {
  test("what is due is in the mailbox as it was sent, what is not due is not", { timeout }, async () => {
    const { id } = await createSession(runtime);
    const posts = await queue();
    await posts.send(id, { input: "tomorrow" }, { after: 86_400 });
    await posts.send(id, { input: "in a moment", id: "in_moment" }, { after: 1 });
    const stop = await posts.work(often);
    await until(async () => (await mail(id)).length > 0);
    assert.deepEqual(await mail(id), [{ id: "in_moment", kind: "input", body: textOf("in a moment") }]);
    const [waiting] = await boss.findJobs(posts.name, { queued: true });
    assert.ok(waiting && waiting.startAfter.getTime() > Date.now() + 80_000_000);
    await stop();
  });

  test("a steer and a deadline go the same way; a second send with its id is one post", { timeout }, async () => {
    const { id } = await createSession(runtime);
    const posts = await queue();
    await posts.send(id, { kind: "steer", input: "mind the tests", id: "st_1" });
    await posts.send(id, { kind: "steer", input: "mind the tests", id: "st_1" });
    await posts.send(id, { kind: "abort", turn: "t_1", id: "ab_1" });
    const stop = await posts.work(often);
    await until(async () => (await boss.findJobs(posts.name)).every(({ state }) => state === "completed"));
    const found = (await mail(id)).sort((a, b) => a.id.localeCompare(b.id));
    assert.deepEqual(found, [
      { id: "ab_1", kind: "abort", body: { turn: "t_1" } },
      { id: "st_1", kind: "steer", body: textOf("mind the tests") },
    ]);
    await stop();
  });

  test("what no store would take is refused where it is sent", async () => {
    const posts = await queue();
    await assert.rejects(posts.send("not an id", { input: "x" }), { code: "INVALID_INPUT" });
    await assert.rejects(posts.send("s", { input: "x", id: "no id" }), { code: "INVALID_INPUT" });
    await assert.rejects(posts.send("s", { input: "x".repeat(20_000_000) }), { code: "INVALID_INPUT" });
    assert.deepEqual(await boss.findJobs(posts.name), []);
  });
});

describe("L3: a job that is delivered again", () => {
  test("kill -9 between the post and the job's end: the next delivery finds the input there, once", {
    timeout,
  }, async () => {
    const { id } = await createSession(runtime);
    const posts = await queue({ queue: { expireInSeconds: 1 } });
    await posts.send(id, { input: "once", id: "in_once" });

    const script = fileURLToPath(new URL("./delivery-process.ts", import.meta.url));
    const child = spawn(process.execPath, [script, url, posts.name], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    assert.equal(line, "posted in_once accepted");
    child.kill("SIGKILL");
    await once(child, "exit");
    const [left] = await boss.findJobs(posts.name);
    assert.equal(left?.state, "active");

    const stop = await posts.work(often);
    const job = await until(async () => (await boss.findJobs(posts.name)).find(({ state }) => state === "completed"));
    assert.equal(job.id, left?.id);
    assert.equal(job.retryCount, 1);
    assert.deepEqual(await mail(id), [{ id: "in_once", kind: "input", body: textOf("once") }]);
    await stop();
  });

  test("also when a turn has claimed the input meanwhile: one turn", { timeout }, async () => {
    const session = await createSession(runtime);
    const agent = { model: scriptedModel([[...say("done"), finish()]]) };
    let deliveries = 0;
    // Accepted and driven to its end; then the answer is lost.
    const posts = await queue({
      runtime: withPost(async () => {
        deliveries += 1;
        if (deliveries > 1) return;
        await session.run(agent, "go", { id: "in_go" }).result;
        throw new PawlError("STORE_UNAVAILABLE", "no answer");
      }),
    });
    await posts.send(session.id, { input: "go", id: "in_go" });
    const stop = await posts.work(often);
    await until(async () => (await boss.findJobs(posts.name)).find(({ state }) => state === "completed"));
    assert.equal(deliveries, 2);
    assert.deepEqual(await mail(session.id), []);
    const turns = (await session.entries()).filter(({ event }) => event.type === "turn.started");
    assert.equal(turns.length, 1);
    await stop();
  });
});

describe("a schedule", () => {
  test("makes a session and an input from the job's id; the same job again makes neither", { timeout }, async () => {
    const posts = await queue();
    const facts = { title: "nightly", labels: { from: "schedule" } };
    await posts.schedule({ key: "nightly", at: "* * * * * *", facts, input: "look at the logs" });
    const stop = await posts.work(often);
    const job = await until(async () => (await boss.findJobs(posts.name)).find(({ state }) => state === "completed"));
    await posts.unschedule("nightly");
    assert.deepEqual(await boss.getSchedules(posts.name), []);

    const session = `s_job_${job.id}`;
    const expected = [{ id: `job_${job.id}`, kind: "input", body: textOf("look at the logs") }];
    assert.deepEqual(await mail(session), expected);
    assert.equal((await runtime.store.get(session))?.head.title, "nightly");
    // As after a crash before its end was recorded.
    await boss.deleteJob(posts.name, job.id);
    await boss.send(posts.name, job.data as object, { id: job.id });
    await until(async () =>
      (await boss.findJobs(posts.name)).find(({ id, state }) => id === job.id && state === "completed"),
    );
    assert.deepEqual(await mail(session), expected);
    await stop();
  });
});

describe("what cannot be posted", () => {
  test("to a session that is gone goes to the dead letters at once, with code and words", { timeout }, async () => {
    const { id } = await createSession(runtime);
    await runtime.store.delete(id);
    const heard: unknown[] = [];
    const posts = await queue({ onError: (error, { fate }) => heard.push([(error as PawlError).code, fate]) });
    await posts.send(id, { input: "to nobody" });
    const stop = await posts.work(often);
    const dead = await deadLetter(posts.deadLetters);
    const output = dead.sourceOutput as { code?: string; message?: string };
    assert.equal(output.code, "SESSION_NOT_FOUND");
    assert.match(output.message ?? "", new RegExp(id));
    assert.equal(dead.sourceRetryCount, 0);
    assert.deepEqual(heard, [["SESSION_NOT_FOUND", "dead-letter"]]);
    await stop();
  });

  test("garbage that somebody else has sent stops nothing else", { timeout }, async () => {
    const { id } = await createSession(runtime);
    const posts = await queue();
    await boss.send(posts.name, { session: id, kind: "input", body: { content: 7 } });
    await boss.send(posts.name, { hello: "there" });
    await boss.send(posts.name, null);
    await posts.send(id, { input: "good", id: "in_good" });
    const stop = await posts.work(often);
    const dead = await until(async () => {
      const jobs = await boss.findJobs(posts.deadLetters);
      return jobs.length === 3 && jobs;
    });
    for (const { sourceOutput } of dead) assert.equal((sourceOutput as { code?: string }).code, "INVALID_INPUT");
    await until(async () => (await mail(id)).length > 0);
    assert.deepEqual(await mail(id), [{ id: "in_good", kind: "input", body: textOf("good") }]);
    await stop();
  });

  test("while the store is away is tried again, and comes through", { timeout }, async () => {
    const { id } = await createSession(runtime);
    let tries = 0;
    const away = withPost(async () => {
      tries += 1;
      if (tries <= 2) throw new PawlError("STORE_UNAVAILABLE", "the server is away");
    });
    const posts = await queue({ runtime: away, queue: { retryDelayMax: 1 } });
    await posts.send(id, { input: "patience", id: "in_patience" });
    const stop = await posts.work(often);
    await until(async () => (await mail(id)).length > 0);
    assert.equal(tries, 3);
    assert.deepEqual(await boss.findJobs(posts.deadLetters), []);
    await stop();
  });
});

test("tries that came to nothing are a dead letter in the end; redriven when the store is back, it is posted", {
  timeout,
}, async () => {
  const { id } = await createSession(runtime);
  let isAway = true;
  const away = withPost(async () => {
    if (isAway) throw new PawlError("STORE_UNAVAILABLE", "the server is away");
  });
  const posts = await queue({ runtime: away, queue: { retryLimit: 1, retryDelayMax: 1 } });
  await posts.send(id, { input: "late", id: "in_late" });
  const stop = await posts.work(often);
  const dead = await deadLetter(posts.deadLetters);
  assert.deepEqual(
    [dead.sourceRetryCount, dead.sourceOutput],
    [1, { code: "STORE_UNAVAILABLE", message: "the server is away" }],
  );
  isAway = false;
  assert.equal(await boss.redrive(posts.deadLetters), 1);
  await until(async () => (await mail(id)).length > 0);
  assert.deepEqual(await mail(id), [{ id: "in_late", kind: "input", body: textOf("late") }]);
  await stop();
});

test("sent in somebody's transaction, it is sent if that commits", { timeout }, async () => {
  const { id } = await createSession(runtime);
  const posts = await queue();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const client = await pool.connect();
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  for (const [end, left] of [
    ["ROLLBACK", 0],
    ["COMMIT", 1],
  ] as const) {
    await client.query("BEGIN");
    assert.ok(await posts.send(id, { input: end }, { db }));
    await client.query(end);
    assert.equal((await boss.findJobs(posts.name)).length, left);
  }
  client.release();
  await pool.end();
});

describe("a worker that a queue wakes", () => {
  test("drives what was posted, though it asks the store by itself once an hour", { timeout }, async () => {
    const posts = await queue();
    const [one, two] = [await createSession(runtime), await createSession(runtime)];
    const ended = async ({ id }: { id: string }) => (await runtime.store.get(id))?.head.outcome === "completed";
    const agent = () => ({ model: scriptedModel([[...say("done"), finish()]]) });
    const worker = createWorker({ runtime, agent, wake: posts.wake, pollMs: 3_600_000, concurrency: 2 });
    // Sessions of other tests may have work too: all of it is done before anything is posted here.
    await until(async () => worker.driving.length === 0);
    const stop = await posts.work(often);
    await posts.send(one.id, { input: "by a job" });
    await until(() => ended(one));
    await two.post("input", "past the queue");
    await posts.nudge();
    await until(() => ended(two));
    await stop();
    await worker.drain();
  });
});
