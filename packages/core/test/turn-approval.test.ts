/** Questions to a person, over processes: asked, listed, answered by post, once, or never. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { News, Store } from "../src/store/store.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import type { ApprovalAnswer, Unanswered } from "../src/tool/approval.ts";
import { permissionOf } from "../src/tool/permission.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { forkSession, openSession, type Runtime, type Session, type Turn } from "../src/turn/session.ts";
import type { LiveItem, PendingApproval } from "../src/view/live.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { agentOf, assertLawful, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const asking = (input: unknown = { command: "git log" }, id = "c1"): ScriptEntry => [
  ...call("act", input, id),
  finish(),
];

class Stage {
  readonly world = new TurnWorld();
  /** The commands that ran. */
  readonly ran: string[] = [];
  readonly tools = {
    act: defineTool<{ command?: string }>({
      inputSchema: { type: "object", properties: { command: { type: "string" } } },
      locks: () => [],
      execute: ({ command = "" }) => {
        this.ran.push(command);
        return `ran ${command}`;
      },
    }),
  };

  agent(script: ScriptEntry[], rest: Partial<Agent> = {}): Agent {
    return agentOf(script, { tools: this.tools as never, permission: () => "ask", unanswered: "wait", ...rest });
  }

  /** A process that waits for an answer, and what it has asked. */
  async waiting(script = [asking(), answer], rest: Partial<Agent> = {}): Promise<Waiting> {
    if (!(await this.world.store.get("s"))) await this.world.session();
    const process = this.process();
    const turn = (await openSession(process, "s")).run(this.agent(script, rest), "go");
    turn.result.catch(() => {});
    await this.world.effects.settle();
    const session = await this.world.open();
    const asked = await session.pendingApprovals();
    return { process, turn, session, asked, id: asked[0]?.approval ?? "none" };
  }

  /** One that can die of a sudden: then it hears and writes nothing any more. */
  process(): Runtime & { die(): void } {
    const { store, die } = mortal(this.world.store);
    const process = this.world.process(store);
    return {
      ...process,
      die: () => {
        die();
        process.die();
      },
    };
  }

  async codes(session: Session): Promise<(string | undefined)[]> {
    const entries = await session.entries();
    assertLawful(entries);
    return eventsOf(entries, "tool.settled").map(({ output }) => output.code ?? outputText(output));
  }
}

interface Waiting {
  process: { die(): void };
  turn: Turn;
  session: Session;
  asked: PendingApproval[];
  id: string;
}

function mortal(store: Store): { store: Store; die(): void } {
  let dead = false;
  const proxy = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as (...given: unknown[]) => unknown;
      if (name === "watch")
        return (session: string, notify: (news: News) => void) =>
          target.watch(session, (news) => (dead ? undefined : notify(news)));
      return (...given: unknown[]) => (dead ? new Promise(() => {}) : Reflect.apply(member, target, given));
    },
  });
  return {
    store: proxy,
    die: () => {
      dead = true;
    },
  };
}

function states(entries: readonly LogEntry[]): string[] {
  return transcriptOf(entries).items.flatMap((item) =>
    item.type === "message" ? item.parts.flatMap((part) => (part.type === "call" ? part.state : [])) : [],
  );
}

describe("R64: approvals by post", () => {
  test("another process lists the question, answers it, and the call runs once; the wait is shown as waiting", async () => {
    const stage = new Stage();
    const { turn, session, asked, id } = await stage.waiting();
    const [{ tool, input, askedAt } = { tool: "", input: "", askedAt: 0 }] = asked;
    assert.deepEqual([asked.length, tool, input, askedAt > 0], [1, "act", '{"command":"git log"}', true]);
    assert.deepEqual(states(await session.entries()), ["waiting"]);
    await session.answer(id, "allow", { by: "ann" });
    assert.deepEqual((await stage.world.effects.run(turn.result)).outcome, { type: "completed" });
    assert.deepEqual(stage.ran, ["git log"]);
    assert.deepEqual(await session.pendingApprovals(), []);
    assert.deepEqual(states(await session.entries()), ["settled"]);
    const [resolved] = eventsOf(await session.entries(), "approval.resolved");
    assert.deepEqual([resolved?.answer, resolved?.by, resolved?.scope], ["allow", "ann", "call"]);
    assert.deepEqual(await stage.world.mailbox(), []);
    assertLawful(await session.entries());
  });

  test("killed while pending, answered while nobody drives, resumed by a process without an approver: it runs once", async () => {
    for (const unanswered of ["deny", "wait", "abort"] as const) {
      const stage = new Stage();
      const { process, session, id } = await stage.waiting();
      process.die();
      assert.equal((await session.pendingApprovals()).length, 1, "listed with nobody driving");
      await session.answer(id, "allow", { by: "ann" });
      await stage.world.effects.run((await stage.world.open()).resume(stage.agent([answer], { unanswered })).result);
      assert.deepEqual(stage.ran, ["git log"], unanswered);
      assert.equal(eventsOf(await session.entries(), "approval.requested").length, 1);
      assert.deepEqual(await stage.codes(session), ["ran git log"]);
      assert.deepEqual(await stage.world.mailbox(), []);
    }
  });

  test("killed while pending, then again: it is still waiting, under the same id, until somebody answers", async () => {
    const stage = new Stage();
    const { process, id } = await stage.waiting();
    process.die();
    for (let life = 0; life < 2; life += 1) {
      const next = stage.process();
      (await openSession(next, "s")).resume(stage.agent([answer])).result.catch(() => {});
      await stage.world.effects.settle();
      assert.deepEqual(
        (await (await stage.world.open()).pendingApprovals()).map(({ approval }) => approval),
        [id],
      );
      next.die();
    }
    const session = await stage.world.open();
    const turn = session.resume(stage.agent([answer]));
    await stage.world.effects.settle();
    await session.answer(id, "deny", { by: "ann", reason: "not now" });
    await stage.world.effects.run(turn.result);
    assert.deepEqual(await stage.codes(session), ["TOOL_DENIED"]);
    assert.deepEqual(stage.ran, []);
  });

  test("killed at every append around the answer: the answer is never lost, and the call never runs twice", async () => {
    for (let append = 2; append <= 4; append += 1) {
      for (const where of ["before", "inside", "after"] as const) {
        const stage = new Stage();
        await stage.world.session();
        const process = stage.world.process(faultyStore(stage.world.store, { append, where, lasts: "for-good" }));
        const session = await stage.world.open();
        (await openSession(process, "s")).run(stage.agent([asking(), answer]), "go").result.catch(() => {});
        await stage.world.effects.settle();
        const [question] = await session.pendingApprovals();
        if (question) await session.answer(question.approval, "allow", { by: "ann", id: "an_1" });
        await stage.world.effects.settle();
        process.die();
        const last = session.resume(stage.agent(question ? [answer] : [asking(), answer]));
        await stage.world.effects.settle();
        // The request whose message was lost is made again, after a wait.
        stage.world.effects.advance(10_000);
        await stage.world.effects.settle();
        const [again] = await session.pendingApprovals();
        if (question) assert.equal(again, undefined, "what was answered is not asked again");
        else if (again) await session.answer(again.approval, "allow", { by: "ann" });
        await stage.world.effects.run(last.result);
        const [code] = await stage.codes(session);
        assert.equal(stage.ran.length <= 1, true, `append ${append}, ${where}`);
        assert.ok(code === "ran git log" || code === "TOOL_OUTCOME_UNKNOWN", `append ${append}, ${where}: ${code}`);
        assert.deepEqual(await stage.world.mailbox(), []);
      }
    }
  });

  test("approved twice, and by two people: the first answer counts, the others are notes", async () => {
    const stage = new Stage();
    const { turn, session, id } = await stage.waiting();
    await Promise.all([
      session.answer(id, "allow", { by: "ann", id: "an_1" }),
      session.answer(id, "allow", { by: "ann", id: "an_1" }),
      session.answer(id, "deny", { by: "bob" }),
    ]);
    await stage.world.effects.run(turn.result);
    const entries = await session.entries();
    assert.deepEqual(stage.ran, ["git log"]);
    assert.equal(eventsOf(entries, "approval.resolved").length, 1);
    assert.deepEqual(
      eventsOf(entries, "note.recorded").map(({ about, data }) => [about, data]),
      [[id, { answer: "deny", by: "bob" }]],
    );
    assert.deepEqual(await stage.world.mailbox(), []);
    assertLawful(entries);
  });

  test("approved after the abort: the call was not started and stays so, the answer is a note", async () => {
    const stage = new Stage();
    const { turn, session, id } = await stage.waiting();
    await session.abort((await session.summary())?.head.openTurn ?? "none");
    assert.deepEqual((await stage.world.effects.run(turn.result)).outcome, { type: "aborted" });
    assert.deepEqual(await session.pendingApprovals(), []);
    await session.answer(id, "allow", { by: "ann" });
    await stage.world.effects.run(session.run(stage.agent([answer]), "next").result);
    assert.deepEqual(await stage.codes(session), ["TOOL_NOT_STARTED"]);
    assert.deepEqual(stage.ran, []);
    assert.equal(eventsOf(await session.entries(), "note.recorded").length, 1);
  });

  test("an answer to another call than the one that was shown is void: the question stays open", async () => {
    const stage = new Stage();
    const { turn, session, asked, id } = await stage.waiting();
    await session.answer(id, "allow", { by: "ann", digest: "of what was shown before" });
    await stage.world.effects.settle();
    assert.equal((await session.pendingApprovals()).length, 1);
    assert.deepEqual(stage.ran, []);
    await session.answer(id, "allow", { by: "ann", digest: asked[0]?.digest ?? "" });
    await stage.world.effects.run(turn.result);
    assert.deepEqual(stage.ran, ["git log"]);
    assert.equal(eventsOf(await session.entries(), "note.recorded").length, 1);
  });

  test("what is no answer is refused before it is posted; a session that does not ask has nothing to answer", async () => {
    const stage = new Stage();
    const session = await stage.world.session();
    for (const post of [
      () => session.answer("not an id", "allow"),
      () => session.answer("ap_1", "maybe" as "allow"),
      () => session.answer("ap_1", "allow", { scope: "world" as "call" }),
      () => session.revoke("not an id"),
    ])
      await assert.rejects(post(), (error) => isPawlError(error, "INVALID_INPUT"));
    assert.deepEqual(await stage.world.mailbox(), []);
    assert.deepEqual(await session.pendingApprovals(), []);
    await session.answer("ap_1", "allow");
    await stage.world.effects.run(session.run(stage.agent([answer]), "go").result);
    assert.equal(eventsOf(await session.entries(), "note.recorded").length, 1);
  });

  test("each new subscriber is told what is asked, until it is answered; also of a resumed turn", async () => {
    const stage = new Stage();
    const first = await stage.waiting([
      [...call("act", { command: "a" }, "c1"), ...call("act", {}, "c2"), finish()],
      answer,
    ]);
    const heard = async (turn: Turn, count: number): Promise<string[]> => {
      const items = turn[Symbol.asyncIterator]();
      const ids: string[] = [];
      for (let nth = 0; nth < count; nth += 1) {
        const { value } = (await items.next()) as IteratorYieldResult<LiveItem>;
        ids.push(value.type === "approval.pending" ? value.approval.approval : value.type);
      }
      return ids;
    };
    const both = first.asked.map(({ approval }) => approval);
    for (let late = 0; late < 2; late += 1) assert.deepEqual(await heard(first.turn, 2), both);
    await first.session.answer(both[0] ?? "", "allow");
    await stage.world.effects.settle();
    assert.deepEqual(await heard(first.turn, 1), [both[1]]);
    first.process.die();
    const turn = first.session.resume(stage.agent([answer]));
    await stage.world.effects.settle();
    assert.deepEqual(await heard(turn, 1), [both[1]]);
    await first.session.answer(both[1] ?? "", "deny");
    await stage.world.effects.run(turn.result);
    assert.deepEqual(stage.ran, ["a"]);
  });
});

describe("R73: nobody to answer", () => {
  const ends: Record<Exclude<Unanswered, "wait">, string> = { deny: "completed", abort: "aborted" };
  for (const unanswered of ["deny", "abort"] as const) {
    test(`${unanswered}: at once, typed, and the log lists what was asked`, async () => {
      const stage = new Stage();
      const two: ScriptEntry = [
        ...call("act", { command: "a" }, "c1"),
        ...call("act", { command: "b" }, "c2"),
        finish(),
      ];
      const session = await stage.world.session();
      const permission = permissionOf([{ say: "allow" }, { input: { command: "a" }, say: "ask" }]);
      const result = await stage.world.effects.run(
        session.run(stage.agent([two, answer], { permission, unanswered }), "go").result,
      );
      assert.equal(result.outcome.type, ends[unanswered]);
      if (unanswered === "abort") assert.match(result.failure?.message ?? "", /act needs a person's approval/);
      const entries = await session.entries();
      assert.deepEqual(
        eventsOf(entries, "approval.resolved").map(({ by, answer: said }) => [by, said]),
        [["nobody", "deny"]],
      );
      const codes = await stage.codes(session);
      assert.deepEqual(codes, unanswered === "deny" ? ["TOOL_DENIED", "ran b"] : ["TOOL_DENIED", "TOOL_NOT_STARTED"]);
      assert.equal(stage.world.effects.waiting, 0);
    });
  }

  test("the approver goes away in the middle of a question: policy decides, and with `wait` the question stays open", async () => {
    for (const unanswered of ["deny", "wait", "abort"] as const) {
      const stage = new Stage();
      const gone = Promise.withResolvers<ApprovalAnswer>();
      const approver = () => gone.promise;
      const { turn, session, id } = await stage.waiting([asking(), answer], { unanswered, approver });
      gone.reject(new Error("the terminal was closed"));
      await stage.world.effects.settle();
      if (unanswered === "wait") {
        assert.equal((await session.pendingApprovals()).length, 1);
        await session.answer(id, "allow", { by: "ann" });
      }
      const { outcome } = await stage.world.effects.run(turn.result);
      assert.equal(outcome.type, unanswered === "abort" ? "aborted" : "completed");
      assert.deepEqual(await stage.codes(session), [unanswered === "wait" ? "ran git log" : "TOOL_DENIED"]);
    }
  });

  test("what was answered while nobody drove is not asked again", async () => {
    const stage = new Stage();
    const { process, session, id } = await stage.waiting();
    process.die();
    await session.answer(id, "allow", { by: "ann" });
    const approver: Agent["approver"] = () => assert.fail("asked");
    await stage.world.effects.run(session.resume(stage.agent([answer], { approver })).result);
    assert.deepEqual(stage.ran, ["git log"]);
  });

  test("an answer by post ends the approver's question, too", async () => {
    const stage = new Stage();
    let told = false;
    const approver: Agent["approver"] = (_, signal) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          told = true;
          reject(signal.reason);
        }),
      );
    const { turn, session, id } = await stage.waiting([asking(), answer], { approver });
    await session.answer(id, "allow", { by: "ann" });
    await stage.world.effects.run(turn.result);
    assert.deepEqual([told, stage.ran], [true, ["git log"]]);
  });

  test("L6: a question that expires is a typed denial, also where the time passed while nobody drove", async () => {
    for (const lives of [1, 2]) {
      const stage = new Stage();
      const { process, turn, session, asked } = await stage.waiting([asking(), answer], { approvalMs: 60_000 });
      assert.equal(asked[0]?.expiresAt, (asked[0]?.askedAt ?? 0) + 60_000);
      if (lives === 2) {
        process.die();
        stage.world.effects.advance(61_000);
      }
      const last = lives === 1 ? turn : session.resume(stage.agent([answer], { approvalMs: 60_000 }));
      await stage.world.effects.run(last.result);
      assert.deepEqual(await stage.codes(session), ["TOOL_DENIED"]);
      assert.equal(eventsOf(await session.entries(), "approval.resolved")[0]?.by, "expiry");
      if (lives === 1) assert.equal(stage.world.effects.waiting, 0);
    }
  });

  test("L3: an answer posted in time counts although the driver hears of it after the expiry; one posted after does not", async () => {
    for (const late of [false, true]) {
      const stage = new Stage();
      const { process, session, id } = await stage.waiting([asking(), answer], { approvalMs: 60_000 });
      process.die();
      if (!late) await session.answer(id, "allow");
      stage.world.effects.advance(61_000);
      if (late) await session.answer(id, "allow");
      await stage.world.effects.run(session.resume(stage.agent([answer])).result);
      assert.deepEqual(await stage.codes(session), [late ? "TOOL_DENIED" : "ran git log"]);
      assert.deepEqual(await stage.world.mailbox(), []);
    }
  });
});

describe("answers that stand", () => {
  const commands = (...lines: string[]): ScriptEntry => [
    ...lines.flatMap((command, n) => call("act", { command }, `c${n}`)),
    finish(),
  ];

  async function granted(given: Partial<ApprovalAnswer>): Promise<{ stage: Stage; session: Session; id: string }> {
    const stage = new Stage();
    const { turn, session, id } = await stage.waiting();
    await session.answer(id, given.answer ?? "allow", { by: "ann", scope: "session", ...given });
    await stage.world.effects.run(turn.result);
    return { stage, session, id };
  }

  async function next(stage: Stage, session: Session, ...lines: string[]): Promise<(string | undefined)[]> {
    const before = (await session.entries()).length;
    const agent = stage.agent([commands(...lines), answer], { unanswered: "deny" });
    await stage.world.effects.run(session.run(agent, "next").result);
    const entries = await session.entries();
    assertLawful(entries);
    return eventsOf(entries.slice(before), "tool.settled").map(({ output }) => output.code ?? outputText(output));
  }

  test("without a pattern for the very same call, with one for what matches, in later turns and other processes", async () => {
    const same = await granted({});
    assert.deepEqual((await next(same.stage, same.session, "git log", "git diff")).toSorted(), [
      "TOOL_DENIED",
      "ran git log",
    ]);
    const wide = await granted({ input: { command: "git *" } });
    const other = await wide.stage.world.open();
    assert.deepEqual((await next(wide.stage, other, "git diff", "git log; rm x", "make")).toSorted(), [
      "TOOL_DENIED",
      "TOOL_DENIED",
      "ran git diff",
    ]);
    const any = await granted({ input: {} });
    assert.deepEqual(await next(any.stage, any.session, "make"), ["ran make"]);
  });

  test("a no may stand, too; policy's deny is above any yes", async () => {
    const { stage, session } = await granted({ answer: "deny", input: { command: "git *" } });
    const asked = (await session.entries()).length;
    assert.deepEqual(await next(stage, session, "git diff"), ["TOOL_DENIED"]);
    assert.equal(eventsOf((await session.entries()).slice(asked), "approval.requested").length, 0, "nobody is asked");
    const yes = await granted({ input: {} });
    const agent = yes.stage.agent([commands("make"), answer], { permission: () => "deny" });
    await yes.stage.world.effects.run(yes.session.run(agent, "next").result);
    assert.deepEqual(await yes.stage.codes(yes.session), ["ran git log", "TOOL_DENIED"]);
  });

  test("revoked, it stands no longer; revoked again, it is a note", async () => {
    const { stage, session, id } = await granted({ input: { command: "git *" } });
    const listed = (await session.standingAnswers()).map(({ approval, by, tool, input }) => [
      approval,
      by,
      tool,
      input,
    ]);
    assert.deepEqual(listed, [[id, "ann", "act", { command: "git *" }]]);
    await session.revoke(id, { by: "ann" });
    await session.revoke(id, { by: "bob" });
    assert.deepEqual(await next(stage, session, "git diff"), ["TOOL_DENIED"]);
    assert.deepEqual(await session.standingAnswers(), []);
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "approval.resolved").map(({ approval, by }) => approval === id && by),
      ["ann", "ann", false],
    );
    assert.equal(eventsOf(entries, "note.recorded").length, 1);
  });

  test("it settles other questions that are open when it is given", async () => {
    const stage = new Stage();
    const { turn, session, asked } = await stage.waiting([commands("git log", "make", "git diff"), answer]);
    assert.equal(asked.length, 3);
    await session.answer(asked[0]?.approval ?? "", "allow", { scope: "session", input: { command: "git *" } });
    await stage.world.effects.settle();
    assert.deepEqual(stage.ran, ["git log", "git diff"]);
    await session.answer(asked[1]?.approval ?? "", "deny");
    await stage.world.effects.run(turn.result);
    const answers = eventsOf(await session.entries(), "approval.resolved").map(({ answer: said }) => said);
    assert.deepEqual(answers, ["allow", "allow", "deny"]);
    assertLawful(await session.entries());
  });

  test("a fork inherits only what was given for forks, and no question that is open", async () => {
    for (const scope of ["session", "forks"] as const) {
      const { stage, session } = await granted({ scope, input: { command: "git *" } });
      const seq = (await session.summary())?.seq ?? 0;
      const fork = await forkSession(stage.world.process(), { session: "s", seq }, "fork");
      assert.deepEqual(await next(stage, fork, "git diff"), [scope === "forks" ? "ran git diff" : "TOOL_DENIED"]);
    }
    const stage = new Stage();
    const { session, id, turn } = await stage.waiting();
    const seq = (await session.summary())?.seq ?? 0;
    const fork = await forkSession(stage.world.process(), { session: "s", seq }, "fork");
    assert.deepEqual(await fork.pendingApprovals(), []);
    await fork.answer(id, "allow");
    await stage.world.effects.run(fork.run(stage.agent([answer]), "go").result);
    assert.deepEqual(await stage.codes(fork), ["TOOL_NOT_STARTED"]);
    assert.deepEqual(stage.ran, []);
    await session.answer(id, "allow");
    await stage.world.effects.run(turn.result);
    assert.deepEqual(stage.ran, ["git log"]);
  });

  test("an approver in the process may give one; a scope or a pattern that is none counts as the narrowest", async () => {
    const stage = new Stage();
    const session = await stage.world.session();
    const given: unknown[] = [
      { answer: "allow", by: "ann", scope: "world" },
      { answer: "allow", by: "ann", scope: "session", input: { command: 7 } },
      { answer: "allow", by: "ann", scope: "session", input: { command: "make *" } },
    ];
    const approver = async () => given.shift() as ApprovalAnswer;
    const script = [...["git log", "make a", "make b", "make c"].map((line) => commands(line)), answer];
    await stage.world.effects.run(session.run(stage.agent(script, { approver }), "go").result);
    assert.deepEqual(stage.ran, ["git log", "make a", "make b", "make c"]);
    assert.equal(given.length, 0);
    assert.equal(eventsOf(await session.entries(), "approval.requested").length, 3);
  });
});
