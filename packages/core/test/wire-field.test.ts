/** Field reports that need the whole runtime: real sockets, three protocols, the server's judge on every request. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entry, PROTOCOLS, type Protocol } from "@pawl/model-server";
import type { LogEntry, TurnResult } from "../src/index.ts";
import { modelOf, serving } from "./wire-provider.ts";
import { assertSound, eventsOf, run, type World, worldOf } from "./wire-runtime.ts";

interface Ran {
  world: World;
  result: TurnResult;
  entries: LogEntry[];
  requests: number;
}

/** Plays a script through the runtime, with a tool that reads and one that writes. */
async function ran(
  protocol: Protocol,
  script: Entry[],
  changes: Parameters<typeof worldOf>[3] = {},
  fallback?: Entry,
): Promise<Ran> {
  let ran: Ran | undefined;
  await serving({ script: { entries: script, ...(fallback ? { fallback } : {}) } }, async (server) => {
    const world = await worldOf(server, protocol, "watched", changes);
    const { result, entries } = await run(world, () => server.release("read"));
    assertSound(server, result, entries);
    ran = { world, result, entries, requests: server.requests.length };
  });
  assert.ok(ran);
  return ran;
}

function codes(entries: readonly LogEntry[]): (string | undefined)[] {
  return eventsOf(entries, "tool.settled").map(({ output }) => output.code);
}

for (const protocol of PROTOCOLS) {
  describe(protocol, () => {
    it("R19: the retry starts from nothing: no doubled text, no glued arguments, both usages counted", async () => {
      const half: Entry = [
        { text: "Hel" },
        { call: "write", input: '{"path":"/tmp/a', upTo: 1 },
        { hold: "read" },
        { reset: true },
      ];
      const { world, result, entries, requests } = await ran(protocol, [
        half,
        [{ text: "Hello." }, { call: "write", input: { path: "/tmp/a/b" } }],
        [{ text: "Done." }],
      ]);
      assert.deepEqual([result.outcome.type, result.text, requests], ["completed", "Done.", 3]);
      assert.deepEqual(world.entered, ['write {"path":"/tmp/a/b"}']);
      const texts = eventsOf(entries, "message.committed").map(({ parts }) =>
        parts.map((part) => ("text" in part ? part.text : "")).join(""),
      );
      assert.deepEqual(texts, ["Hello.", "Done."]);
      assert.deepEqual(
        [result.books.committed.attempts, result.books.discarded.attempts, result.books.discarded.estimated],
        [2, 1, 1],
      );
    });

    it("R09: an invalid request inside the stream is sent once", async () => {
      const { result, requests } = await ran(protocol, [[{ error: { type: "invalid_request_error", message: "no" } }]]);
      assert.deepEqual([result.outcome.type, result.failure?.kind, requests], ["failed", "rejected", 1]);
    });

    it("R13: an absurd Retry-After ends the turn with its moment, after one request", async () => {
      for (const seconds of ["9999999999", "2200000", "86400"]) {
        const { result, requests } = await ran(protocol, [{ status: 429, headers: { "retry-after": seconds } }]);
        assert.equal(requests, 1);
        assert.ok(result.outcome.type === "rate-limited" && (result.outcome.until ?? 0) > Date.UTC(2026, 0, 1));
      }
    });

    it("R14: a spent quota is asked once", async () => {
      const error = {
        type: "insufficient_quota",
        message: "You exceeded your current quota",
        code: "insufficient_quota",
      };
      for (const entry of [
        { status: 429, error },
        { status: 402 },
        { status: 403, error: { ...error, type: "billing_error", code: "billing_not_active" } },
      ]) {
        const { result, requests } = await ran(protocol, [entry]);
        assert.deepEqual([result.outcome.type, requests], ["quota", 1]);
      }
    });

    it("R77: one owner of retries: the budget is the number of requests", async () => {
      for (const attemptsPerStep of [1, 3]) {
        const recovery = { backoff: { firstMs: 0, factor: 1, capMs: 0 }, attemptsPerStep };
        const { result, requests } = await ran(protocol, [], { recovery }, { status: 503 });
        assert.deepEqual([result.outcome.type, requests], ["failed", attemptsPerStep]);
      }
    });

    it("R20: an answer that stays cut is truncated, never completed", async () => {
      const recovery = { backoff: { firstMs: 0, factor: 1, capMs: 0 }, attemptsPerStep: 2 };
      const { result, requests } = await ran(protocol, [], { recovery }, [
        { text: "Half an ans", upTo: 1 },
        { end: true },
      ]);
      assert.deepEqual([result.outcome.type, requests], ["truncated", 2]);
    });

    it("R22: a call cut by the output limit is answered, not run; the one before it runs", async () => {
      const cut: Entry = [
        { call: "read", input: { path: "a" } },
        { call: "write", input: '{"path":"b","content":"half' },
        { finish: "length" },
      ];
      const { world, result, entries } = await ran(protocol, [cut, [{ text: "In parts then." }]]);
      assert.deepEqual([result.outcome.type, world.entered], ["completed", ['read {"path":"a"}']]);
      assert.deepEqual(codes(entries).toSorted(), ["TOOL_INPUT_CUT", undefined]);
    });

    it("R24: a filtered answer is its own outcome, after one request", async () => {
      for (const steps of [[], [{ text: "I may say so much" }]] as Entry[]) {
        const { result, requests } = await ran(protocol, [
          [...(steps as []), { finish: protocol === "anthropic" ? "refusal" : "content-filter" }],
        ]);
        assert.deepEqual([result.outcome.type, requests], ["filtered", 1]);
      }
    });

    it("R25 R26: calls count, the reason does not", async () => {
      const { world, result, requests } = await ran(protocol, [
        [{ call: "read", input: {} }, { finish: "stop" }],
        [{ text: "Read." }],
      ]);
      assert.deepEqual([result.text, requests, world.entered.length], ["Read.", 2, 1]);
      if (protocol === "responses") return;
      const none = await ran(protocol, [[{ text: "No tools." }, { finish: "tool-calls" }]]);
      assert.deepEqual([none.result.outcome.type, none.result.text, none.requests], ["completed", "No tools.", 1]);
    });

    it("R27: an answer that delivers nothing is retried, then its own outcome", async () => {
      for (const nothing of [[{ reason: "I wonder." }], [{ text: "\n \n" }]] as Entry[]) {
        const once = await ran(protocol, [nothing, [{ text: "Here." }]]);
        assert.deepEqual([once.result.outcome.type, once.result.text, once.requests], ["completed", "Here.", 2]);
        const always = await ran(protocol, [], {}, nothing);
        assert.equal(always.result.outcome.type, "empty");
        assert.ok(always.requests <= 6);
      }
    });

    it("R29: an answer without usage is counted by our own estimate, not as free", async () => {
      const { result } = await ran(protocol, [[{ text: "Hi." }, { usage: null }]]);
      assert.deepEqual(
        [result.outcome.type, result.books.committed.attempts, result.books.committed.estimated],
        ["completed", 1, 1],
      );
    });

    it("R37: an unknown tool gets a paired error, and the model goes on", async () => {
      const { result, entries } = await ran(protocol, [[{ call: "raed", input: {} }], [{ text: "Sorry." }]]);
      assert.deepEqual([result.text, codes(entries)], ["Sorry.", ["TOOL_UNKNOWN"]]);
    });

    it("R39: arguments that are no JSON never run, and the next request is valid", async () => {
      const { world, result, entries } = await ran(protocol, [
        [{ call: "write", input: '{"a":' }, { finish: "tool-calls" }],
        [{ text: "Again." }],
      ]);
      assert.deepEqual([result.text, world.entered, codes(entries)], ["Again.", [], ["TOOL_INPUT_INVALID"]]);
    });

    it("R35: no arguments are an empty object", async () => {
      const { world, result } = await ran(protocol, [[{ call: "read", input: null }], [{ text: "Fine." }]]);
      assert.deepEqual([result.text, world.entered], ["Fine.", ["read {}"]]);
    });

    it("R33: one id in every step", async () => {
      const again: Entry = [{ call: "read", input: { path: "a" }, id: "call_0" }];
      const { result, world, requests } = await ran(protocol, [again, again, again, [{ text: "Three." }]]);
      assert.deepEqual([result.text, world.entered.length, requests], ["Three.", 3, 4]);
    });
  });
}

describe("a conversation that lives on the server", () => {
  it("is never sent twice: the outcome is unknown, unless the provider refused it with a status", async () => {
    const providerOptions = { openai: { conversation: "conv_1" } };
    const cut = await ran("responses", [[{ text: "Half", upTo: 1 }, { end: true }]], { providerOptions });
    assert.deepEqual([cut.requests, eventsOf(cut.entries, "attempt.ended")[0]?.exposure.serverState], [1, true]);
    const refused = await ran("responses", [{ status: 503 }, [{ text: "Whole." }]], { providerOptions });
    assert.deepEqual([refused.requests, refused.result.text], [2, "Whole."]);
  });
});

describe("aborting in a backoff", () => {
  it("ends the turn at once, without another request", async () => {
    await serving({ script: { entries: [], fallback: { status: 503 } } }, async (server) => {
      const world = await worldOf(server, "chat", "watched", {
        recovery: { backoff: { firstMs: 600_000, factor: 1, capMs: 600_000 } },
      });
      const abort = new AbortController();
      const turn = world.session.run({ ...world.agent, model: modelOf(server, "chat") }, "Do it.", {
        signal: abort.signal,
      });
      for await (const item of turn)
        if (item.type === "entry" && item.entry.event.type === "attempt.ended") abort.abort();
      const result = await turn.result;
      assert.deepEqual([result.outcome.type, server.requests.length], ["aborted", 1]);
      assertSound(server, result, await world.session.entries());
    });
  });
});
