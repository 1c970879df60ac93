/** A turn is watched from another process while its worker is killed and another one goes on: nothing twice, nothing missing. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openSession, type Runtime, verify } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-watch-"));
const server = await PostgresServer.start();
after(async () => {
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const script = fileURLToPath(new URL("./watch-process.ts", import.meta.url));

interface Said {
  fact?: number;
  type?: string;
  begun?: string;
  word?: string;
  text?: string;
}

/** A process that watches, and what it has said. */
class Watcher {
  readonly said: Said[] = [];
  readonly child: ChildProcess;
  readonly #after: number;
  #look = () => {};

  constructor(url: string, schema: string, mode: "own" | "pooled", after = 0) {
    this.#after = after;
    this.child = spawn(process.execPath, [script, url, schema, mode, "s0", String(after)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.ok(this.child.stdout);
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      this.said.push(JSON.parse(line) as Said);
      this.#look();
    });
  }

  /** Resolves when it has said something that answers. */
  heard(what: (said: Said) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#look = () => this.said.some(what) && resolve();
    this.#look();
    return promise;
  }

  get words(): Map<string, string> {
    const words = new Map<string, string>();
    for (const { word, text = "", begun } of this.said) {
      if (begun !== undefined) assert.ok(!words.has(begun), `${begun} begins twice`);
      if (begun !== undefined) words.set(begun, "");
      if (word !== undefined) words.set(word, `${words.get(word) ?? "unannounced "}${text}`);
    }
    return words;
  }

  async ended(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "close");
    assert.equal(this.child.exitCode, 0);
  }

  /** Every fact behind `after` once, in order; of each message that began before its eyes every word. */
  async agrees(runtime: Runtime): Promise<void> {
    await this.ended();
    const entries = await (await openSession(runtime, "s0")).entries();
    assert.deepEqual(
      verify(entries).flatMap(({ violations }) => violations),
      [],
    );
    const facts = this.said.flatMap(({ fact }) => fact ?? []);
    const { length } = entries;
    assert.deepEqual(
      facts,
      Array.from({ length: length - this.#after }, (_, at) => this.#after + at + 1),
    );
    const { words } = this;
    let seen = 0;
    for (const { seq, event } of entries) {
      if (event.type !== "message.committed" || seq <= this.#after + 1) continue;
      for (const part of event.parts) {
        if (part.type !== "text" && part.type !== "tool-call") continue;
        assert.equal(words.get(part.id), part.type === "text" ? part.text : part.input);
        seen += 1;
      }
    }
    assert.ok(seen > 0, "there were words");
  }
}

const own = ["own", "LISTEN is there"] as const;
const cut = ["own", "its connections are cut twice"] as const;
const pooled = ["pooled", "it only asks"] as const;

describe("L3: followed from any seq, through the SIGKILL of its worker", () => {
  for (const [mode, how] of [own, cut, pooled]) {
    test(`${how}: facts and words without a gap, none twice`, { timeout: 240_000 }, async () => {
      const url = server.url("postgres");
      const schema = server.schema();
      const runtime = { store: await postgresStore({ url, schema }), effects: nodeEffects(), holder: thisHolder() };
      const network = await Network.to(server.port);
      const through = server.url("postgres", network.port);
      const fleet = new Fleet({ args: [`postgres:${url}`, schema], runtime }, join(root, schema), 400);
      const watchers: Watcher[] = [];
      try {
        await makeSessions(runtime, 1, 0);
        const first = new Watcher(through, schema, mode);
        watchers.push(first);
        await first.heard(({ fact }) => fact === 1);
        const one = await fleet.start();
        await (await openSession(runtime, "s0")).post("input", "act");
        await fleet.reached(1);
        const seq = (await runtime.store.get("s0"))?.seq ?? 0;
        watchers.push(new Watcher(through, schema, mode, seq), new Watcher(url, schema, mode, 2));
        // In the middle of an answer: its words are there, its message is not.
        await first.heard(({ word }) => word !== undefined);
        if (how === cut[1]) network.cut();
        await fleet.kill(one);
        await fleet.reached(3);
        if (how === cut[1]) network.cut();
        await allEnded(runtime, ["s0"], 1);
        for (const watcher of watchers) await watcher.agrees(runtime);
        await fleet.drain();
      } finally {
        fleet.killAll();
        for (const { child } of watchers) child.kill("SIGKILL");
        await runtime.store.close();
        await network.close();
      }
    });
  }
});
