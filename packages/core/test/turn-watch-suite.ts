/** Following from another process: any store, fake time. What is seen there is what the driver's own subscriber sees. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish, say, think } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { forkSession, openSession } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { agentOf, type TurnWorld } from "./turn-world.ts";
import { pass, pause, slowly, type WatchGround, Watching } from "./watch-world.ts";

const reset = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
const wordsOf = ({ words }: Watching) => [...words.values()];

/** Another process, over the same store, that counts what it asks for. */
async function watcherOf(world: TurnWorld, after = 0, session = "s") {
  const asked: string[] = [];
  const store = new Proxy(world.store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        asked.push(String(name));
        return Reflect.apply(member, target, given);
      };
    },
  });
  const watching = new Watching(await openSession(world.process(store), session), after);
  await world.effects.settle();
  asked.length = 0;
  return { watching, asked };
}

export function watching(name: string, ground: WatchGround): void {
  describe(`watching from another process: ${name}`, () => {
    test("words come while they are said, a discarded attempt's are withdrawn, each fact and word once", async () => {
      const world = await ground.world();
      const session = await world.session();
      const { watching } = await watcherOf(world);
      const agent = agentOf([
        // Time to be written and looked at: what is withdrawn unseen is not told.
        [...think("hm"), ...slowly(world, "one two three", 300), pause(world, 600), reset],
        [...slowly(world, "all is well", 300), finish()],
      ]);
      const turn = session.run(agent, "go");
      await pass(world, 1_000);
      assert.equal(wordsOf(watching).join("|"), "hm|one two", "before anything of it is committed");
      await world.effects.run(turn.result);
      await pass(world, 1_000);
      await watching.stop();
      const entries = await session.entries();
      assert.deepEqual(
        watching.seqs,
        entries.map(({ seq }) => seq),
      );
      assert.deepEqual(watching.transcript, transcriptOf(entries));
      assert.deepEqual(wordsOf(watching), ["hm", "one two three", "all is well"]);
      assert.ok(watching.items.filter(({ type }) => type === "part.delta").length > 5, "piece by piece");
    });

    test("whoever joins in the middle has the words so far at once, then goes on", async () => {
      const world = await ground.world();
      const session = await world.session();
      const agent = agentOf([[...think("let me see"), ...slowly(world, "one two three four", 300), finish()]]);
      const turn = session.run(agent, "go");
      await pass(world, 1_300);
      const open = (await session.summary())?.seq ?? 0;
      const { watching } = await watcherOf(world, open);
      assert.deepEqual(watching.told, ["reasoning", '"let me see"', "part.ended", "text", '"one two three"']);
      await world.effects.run(turn.result);
      await pass(world, 1_000);
      await watching.stop();
      assert.deepEqual(watching.told.slice(5, 9), ['" four"', "part.ended", "attempt.ended", "message.committed"]);
      assert.deepEqual(watching.transcript, transcriptOf(await session.entries()));
    });

    test("whoever comes again with what he had read is told the open words from their beginning, and shows them once", async () => {
      const world = await ground.world();
      const session = await world.session();
      const turn = session.run(agentOf([[...slowly(world, "one two three four", 300), finish()]]), "go");
      const { watching: first } = await watcherOf(world);
      await pass(world, 1_000);
      await first.stop();
      assert.deepEqual(wordsOf(first), ["one two"]);
      const second = new Watching(await world.open(), first.seqs.at(-1), first.transcript);
      await world.effects.run(turn.result);
      await pass(world, 1_000);
      await second.stop();
      assert.deepEqual(wordsOf(second), ["one two three four"]);
      assert.deepEqual(second.transcript, transcriptOf(await session.entries()));
    });

    test("a message that is committed between two looks is told as words first, and only what was not told", async () => {
      const world = await ground.world();
      const session = await world.session();
      const { watching } = await watcherOf(world);
      const hold = Promise.withResolvers<void>();
      const piece = (delta: string) => ({ type: "text-delta", id: "1", delta }) as const;
      const [start, ...end] = [
        { type: "text-start", id: "1" } as const,
        { type: "text-end", id: "1" } as const,
        finish(),
      ];
      const script = [[start, piece("one"), { until: hold.promise }, piece(" and more"), ...end]];
      const turn = session.run(agentOf(script), "go");
      await pass(world, 700);
      assert.deepEqual(wordsOf(watching), ["one"]);
      hold.resolve();
      await world.effects.run(turn.result);
      await world.effects.settle();
      await watching.stop();
      const at = watching.told.indexOf("attempt.ended");
      assert.deepEqual(watching.told.slice(at - 4, at + 2), [
        "text",
        '"one"',
        '" and more"',
        "part.ended",
        "attempt.ended",
        "message.committed",
      ]);
    });

    test("the driver dies: its words stay on the screen, nothing is asked for, and who takes over is followed", async () => {
      const world = await ground.world();
      const session = await world.session();
      const dying = world.process();
      const { watching, asked } = await watcherOf(world);
      const hold = new Promise<void>(() => {});
      const steps = [...slowly(world, "half a", 300), { until: hold }];
      const lost = (await openSession(dying, "s")).run(agentOf([steps]), "go");
      lost.result.catch(() => {});
      await pass(world, 1_200);
      dying.die();
      assert.deepEqual(wordsOf(watching), ["half a"]);
      await pass(world, 1_000);
      asked.length = 0;
      await pass(world, 60_000);
      assert.deepEqual(asked, [], "nobody drives: nothing to ask for");
      const turn = session.resume(agentOf([[...slowly(world, "a whole one", 300), finish()]]));
      await pass(world, 1_500);
      await world.effects.run(turn.result);
      await pass(world, 1_000);
      await watching.stop();
      assert.deepEqual(wordsOf(watching), ["half a", "a whole one"]);
      assert.deepEqual(watching.transcript, transcriptOf(await session.entries()));
    });

    test("an idle session and one whose tool runs are not asked about, and a watcher that leaves leaves nothing", async () => {
      const world = await ground.world();
      const session = await world.session();
      const { watching, asked } = await watcherOf(world);
      await pass(world, 60_000);
      assert.deepEqual(asked, []);
      const gate = Promise.withResolvers<void>();
      const wait = defineTool({ inputSchema: { type: "object" }, execute: () => gate.promise.then(() => "ok") });
      const script = [
        [{ type: "tool-call", toolCallId: "c", toolName: "wait", input: "{}" } as const, finish("tool-calls")],
        [...say("done"), finish()],
      ];
      const turn = session.run(agentOf(script, { tools: { wait } }), "go");
      await world.effects.settle();
      await pass(world, 100);
      asked.length = 0;
      await pass(world, 60_000);
      assert.deepEqual(asked, [], "a tool runs");
      gate.resolve();
      await world.effects.run(turn.result);
      await world.effects.settle();
      await watching.stop();
      assert.equal(world.effects.waiting, 0);
    });

    test("a long silence of the model is looked at twice a second, no more", async () => {
      const world = await ground.world();
      const session = await world.session();
      const { watching, asked } = await watcherOf(world);
      const turn = session.run(agentOf([[pause(world, 20_000), ...say("late"), finish()]]), "go");
      await pass(world, 2_000);
      asked.length = 0;
      await pass(world, 10_000);
      const looks = asked.filter((name) => name === "readPartial").length;
      assert.ok(looks >= 15 && looks <= 21, `${looks} looks in 10 s`);
      await world.effects.run(turn.result);
      await watching.stop();
    });

    test("a question that waits is told once, to each who watches; one that is answered never", async () => {
      const world = await ground.world();
      const session = await world.session();
      const act = defineTool({ inputSchema: { type: "object" }, execute: () => "ok" });
      const called = (id: string) => ({ type: "tool-call", toolCallId: id, toolName: "act", input: "{}" }) as const;
      const agent = agentOf(
        [
          [called("c1"), called("c2"), finish("tool-calls")],
          [...say("done"), finish()],
        ],
        {
          tools: { act },
          permission: () => "ask",
          approver: (_, signal) =>
            new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        },
      );
      const turn = session.run(agent, "go");
      const { watching: first } = await watcherOf(world);
      await pass(world, 200);
      const head = (await session.summary())?.seq ?? 0;
      const { watching: late } = await watcherOf(world, head);
      for (const one of await session.pendingApprovals()) await session.answer(one.approval, "allow", { by: "ann" });
      await world.effects.run(turn.result);
      await pass(world, 200);
      const { watching: after } = await watcherOf(world);
      const asked = (one: Watching) =>
        one.items.flatMap((item) => (item.type === "approval.pending" ? [item.approval.call] : []));
      for (const one of [first, late, after]) await one.stop();
      const ids = [...new Set(asked(first))];
      assert.equal(ids.length, 2);
      assert.deepEqual([asked(first), asked(late), asked(after)], [ids, ids, []]);
    });

    test("a fork of a running session: its parent's words are not awaited, its own are followed", async () => {
      const world = await ground.world();
      const session = await world.session();
      const turn = session.run(agentOf([[...slowly(world, "one two three", 300), finish()]]), "go");
      await pass(world, 800);
      const seq = (await session.summary())?.seq ?? 0;
      const child = await forkSession(world.process(), { session: "s", seq }, "child");
      const { watching, asked } = await watcherOf(world, 0, "child");
      await pass(world, 5_000);
      assert.ok(!asked.includes("readPartial"));
      const own = child.run(agentOf([[...slowly(world, "my own", 300), finish()]]), "go");
      await world.effects.run(own.result);
      await world.effects.run(turn.result);
      await pass(world, 1_000);
      await watching.stop();
      assert.deepEqual(wordsOf(watching), ["my own"]);
      assert.deepEqual(watching.transcript, transcriptOf(await child.entries()));
    });

    test("a session that is deleted ends its watch with an error; an `after` that is not there is refused", async () => {
      const world = await ground.world();
      const session = await world.session();
      const { watching } = await watcherOf(world);
      const ended = assert.rejects(watching.ended, { code: "SESSION_NOT_FOUND" });
      await world.store.delete("s");
      await ended;
      await assert.rejects(() => new Watching(session, 0).ended, { code: "SESSION_NOT_FOUND" });
      await world.session("other");
      for (const after of [2, -1, 0.5, Number.NaN]) {
        const other = await world.open("other");
        const first = other.watch({ after, signal: new AbortController().signal })[Symbol.asyncIterator]().next();
        await assert.rejects(first, { code: "INVALID_INPUT" });
      }
    });

    test("whoever reads slowly is told all the words that came meanwhile at once", async () => {
      const world = await ground.world();
      const session = await world.session();
      const words = Array.from({ length: 200 }, (_, n) => `word${n}`).join(" ");
      const other = (await world.open()).watch({ signal: new AbortController().signal })[Symbol.asyncIterator]();
      const turn = session.run(agentOf([[...slowly(world, words, 100), finish()]]), "go");
      const heard: string[] = [];
      const hear = async () => {
        const { value } = await other.next();
        if (value?.type === "part.delta") heard.push(value.text);
        return value?.type === "entry" ? value.entry.event.type : value?.type;
      };
      for (let type = await hear(); type !== "attempt.started"; ) type = await hear();
      await pass(world, 15_000);
      assert.deepEqual([await hear(), await hear()], ["part.started", "part.delta"]);
      assert.ok((heard[0]?.length ?? 0) > 900, "one delta for 15 seconds");
      await world.effects.run(turn.result);
      for (let type = await hear(); type !== "attempt.ended"; ) type = await hear();
      assert.equal(heard.join(""), words);
      assert.equal(heard.length, 2);
      await other.return?.(undefined);
      assert.equal(world.effects.waiting, 0);
    });
  });
}
