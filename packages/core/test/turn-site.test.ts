/** Calls whose effects stay on a machine: what is said of them there, elsewhere, and by whoever comes back. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Effect } from "../src/log/event.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, say } from "../src/testing/model.ts";
import type { Host, Site } from "../src/tool/site.ts";
import { defineTool, type Reconciled, type Tool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession, type Runtime, type Session } from "../src/turn/session.ts";
import { agentOf, assertLawful, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const answer = () => [...say("done"), finish()];
const asking = [...call("act", { at: "door" }), finish()];

const alpha: Host = { host: "alpha", boot: "boot-1" };
const disk: Site = { id: "disk-1", where: "/data/act-1" };

/** Where the first process stops: append 2 announces the body, append 3 holds its result. */
const instants = {
  "before the intent": { append: 2, where: "before" },
  "after the intent": { append: 2, where: "after" },
  "after the effect": { append: 3, where: "before" },
} as const;

class Scene {
  readonly world = new TurnWorld();
  runs = 0;
  asked = 0;

  on({ host, boot }: Host, store = this.world.store): Runtime & { die(): void } {
    const process = this.world.process(store);
    return { ...process, holder: { ...process.holder, host, boot } };
  }

  agent(site: Tool["site"] | undefined, script = [answer()], effect: Effect = "write"): Agent {
    const act = defineTool({
      inputSchema: { type: "object" as const },
      effect,
      ...(site && { site }),
      execute: () => {
        this.runs += 1;
        return "ran";
      },
      reconcile: async (): Promise<Reconciled> => {
        this.asked += 1;
        return { verdict: "not-done" };
      },
    });
    return agentOf(script, { tools: { act: act as Tool<never> } });
  }

  /** A session that alpha drove and died over. */
  async left(
    instant: keyof typeof instants,
    site: Tool["site"] | undefined,
    { effect, host = alpha }: { effect?: Effect; host?: Host } = {},
  ): Promise<void> {
    await this.world.session();
    const process = this.on(host, faultyStore(this.world.store, { ...instants[instant], lasts: "for-good" }));
    const session = await openSession(process, "s");
    await this.world.effects.run(session.run(this.agent(site, [asking], effect), "go").result).catch(() => {});
    process.die();
  }

  async resume(host: Host, agent: Agent): Promise<{ session: Session; code: string | undefined; text: string }> {
    const session = await openSession(this.on(host), "s");
    const result = await this.world.effects.run(session.resume(agent).result);
    assert.deepEqual(result.outcome, { type: "completed" });
    assertLawful(await session.entries());
    const [settled] = eventsOf(await session.entries(), "tool.settled");
    assert.ok(settled);
    return { session, code: settled.output.code, text: outputText(settled.output) };
  }
}

const here = () => disk;

describe("a call whose effects stay where it ran", () => {
  test("says on which host and at which place it was entered; any other call says nothing", async () => {
    const scene = new Scene();
    await scene.left("after the intent", ({ input, idempotencyKey }) => ({
      id: "disk-1",
      where: `/data/${(input as { at: string }).at}/${idempotencyKey}`,
    }));
    const [entered] = eventsOf(await (await scene.world.open()).entries(), "tool.entered");
    assert.deepEqual(entered?.site, { ...alpha, id: "disk-1", where: `/data/door/${entered?.key}` });
    const other = new Scene();
    await other.left("after the intent", undefined);
    assert.ok(!("site" in (eventsOf(await (await other.world.open()).entries(), "tool.entered")[0] ?? {})));
  });

  const returns: [string, Host][] = [
    ["the same host", alpha],
    ["the same host after a boot", { ...alpha, boot: "boot-2" }],
    ["the same kernel under another name", { ...alpha, host: "container-7" }],
  ];
  for (const [who, host] of returns) {
    test(`is looked after by ${who} at the same place`, async () => {
      const scene = new Scene();
      await scene.left("after the intent", here);
      const { code } = await scene.resume(host, scene.agent(here));
      assert.deepEqual([code, scene.asked, scene.runs], ["TOOL_NOT_STARTED", 1, 0]);
    });
  }

  const elsewhere: [string, Host, Tool["site"]][] = [
    ["another host, at the same path", { host: "beta", boot: "boot-9" }, here],
    ["another host with a place of its own", { host: "beta", boot: "boot-9" }, () => ({ ...disk, id: "disk-2" })],
    ["the same host at another place", alpha, () => ({ id: "disk-2", where: "/data/act-1" })],
    ["the same host with a tool that knows no place", alpha, undefined],
  ];
  for (const instant of ["after the intent", "after the effect"] as const) {
    for (const [who, host, site] of elsewhere) {
      test(`L4: killed ${instant}: ${who} asks nobody, and says where it was`, async () => {
        const scene = new Scene();
        await scene.left(instant, here);
        const { code, text } = await scene.resume(host, scene.agent(site));
        assert.deepEqual([code, scene.asked], ["TOOL_OUTCOME_UNKNOWN", 0]);
        assert.equal(scene.runs, instant === "after the effect" ? 1 : 0, "it is not entered again");
        assert.match(
          text,
          /started on the host alpha.*may still be running there.*on alpha, at \/data\/act-1\. Do not/,
        );
      });
    }
  }

  test("that was never entered runs on the other host, once", async () => {
    const scene = new Scene();
    await scene.left("before the intent", here);
    const { session, code } = await scene.resume(
      { host: "beta", boot: "boot-9" },
      scene.agent(() => ({ ...disk, id: "disk-2" }), [asking, answer()]),
    );
    assert.deepEqual([code, scene.runs], [undefined, 1]);
    const [entered] = eventsOf(await session.entries(), "tool.entered");
    assert.deepEqual([entered?.site?.host, entered?.site?.id], ["beta", "disk-2"]);
  });

  test("is unknown also where a new input closes its turn, and its host may come back to the rest", async () => {
    const scene = new Scene();
    await scene.left("after the effect", here);
    const session = await openSession(scene.on({ host: "beta", boot: "boot-9" }), "s");
    await scene.world.effects.run(session.run(scene.agent(here), "never mind").result);
    const [settled] = eventsOf(await session.entries(), "tool.settled");
    assert.deepEqual([settled?.output.code, settled?.by, scene.asked], ["TOOL_OUTCOME_UNKNOWN", "recovery", 0]);
    const back = await openSession(scene.on(alpha), "s");
    await scene.world.effects.run(back.run(scene.agent(here), "go on").result);
    assert.equal(eventsOf(await back.entries(), "tool.settled").length, 1, "what was said stands");
    assertLawful(await back.entries());
  });

  test("of a kernel that does not tell its boot is nobody's but its host's", async () => {
    const scene = new Scene();
    await scene.left("after the intent", here, { host: { host: "alpha", boot: "unknown" } });
    const { code } = await scene.resume({ host: "beta", boot: "unknown" }, scene.agent(here));
    assert.deepEqual([code, scene.asked], ["TOOL_OUTCOME_UNKNOWN", 0]);
  });

  test("of a log that tells no site yet is unknown: nobody knows whose disk to ask", async () => {
    const scene = new Scene();
    await scene.left("after the intent", undefined);
    const { code, text } = await scene.resume(alpha, scene.agent(here));
    assert.deepEqual([code, scene.asked], ["TOOL_OUTCOME_UNKNOWN", 0]);
    assert.doesNotMatch(text, /host/);
  });

  const odd: [string, Tool["site"]][] = [
    [
      "throws",
      () => {
        throw new Error("no disk");
      },
    ],
    ["is a promise", (async () => disk) as never],
    ["is nothing", (() => undefined) as never],
  ];
  for (const [how, site] of odd) {
    test(`whose site ${how} runs, and is of no place that anybody comes back to`, async () => {
      const scene = new Scene();
      await scene.left("after the effect", site);
      const { code, text } = await scene.resume(alpha, scene.agent(site));
      assert.deepEqual([code, scene.asked, scene.runs], ["TOOL_OUTCOME_UNKNOWN", 0, 1]);
      assert.match(text, /on alpha, at a place that is not known/);
    });
  }

  test("runs again elsewhere where it may: an idempotent one, whose last entry says where", async () => {
    const scene = new Scene();
    await scene.left("after the effect", here, { effect: "idempotent" });
    const beta = { host: "beta", boot: "boot-9" };
    const { session, code } = await scene.resume(beta, scene.agent(here, [answer()], "idempotent"));
    assert.deepEqual([code, scene.runs, scene.asked], [undefined, 2, 0]);
    const hosts = eventsOf(await session.entries(), "tool.entered").map(({ site }) => site?.host);
    assert.deepEqual(hosts, ["alpha", "beta"]);
  });
});
