/** One exit code and one outcome for each way a turn may end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Script } from "@pawl/model-server";
import { eventsOf, lastLine, quickTimers, World } from "./pawl-world.ts";

interface Case {
  what: string;
  script: Script;
  code: number;
  outcome: string;
  /** What a person reads at the end. */
  says: RegExp;
  /** The kind of failure in the summary. */
  error?: string;
  requests?: number;
}

const broke: Entry = [{ finish: "stop" }];

const cases: Case[] = [
  {
    what: "a rejected request",
    script: [{ status: 400 }],
    code: 10,
    outcome: "failed",
    says: /✗ failed.*\n.*rejected the request at http:.*400/s,
    error: "rejected",
  },
  {
    what: "a wrong key",
    script: [{ status: 401 }],
    code: 10,
    outcome: "failed",
    says: /Check the key in OPENAI_API_KEY/,
    error: "auth",
  },
  {
    what: "a used-up quota",
    script: [{ status: 429, error: { type: "insufficient_quota", message: "No quota.", code: "insufficient_quota" } }],
    code: 13,
    outcome: "quota",
    says: /the quota is used up/,
    error: "quota",
  },
  {
    what: "payment required",
    script: [{ status: 402 }],
    code: 13,
    outcome: "quota",
    says: /the quota is used up/,
    error: "quota",
  },
  {
    what: "a rate limit beyond our patience",
    script: [{ status: 429, headers: { "retry-after": "9999" } }],
    code: 12,
    outcome: "rate-limited",
    says: /rate-limited until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/,
    error: "rate-limited",
  },
  {
    what: "an answer that the filter withheld",
    script: [[{ finish: "content-filter" }]],
    code: 16,
    outcome: "filtered",
    says: /filter withheld the answer/,
  },
  {
    what: "an answer that the filter cut",
    script: [[{ text: "I would say" }, { finish: "content-filter" }]],
    code: 16,
    outcome: "filtered",
    says: /filter withheld the answer/,
  },
  {
    what: "an answer that the output limit cut",
    script: [[{ text: "It goes on and" }, { finish: "length" }]],
    code: 14,
    outcome: "truncated",
    says: /the answer is cut off/,
  },
  {
    what: "empty answers until the budget is used up",
    script: { entries: [broke], loop: true },
    code: 15,
    outcome: "empty",
    says: /the model gave no answer/,
    error: "empty",
    requests: 3,
  },
  {
    what: "a server that fails until the budget is used up",
    script: { entries: [{ status: 500 }], loop: true },
    code: 10,
    outcome: "failed",
    says: /The provider failed: 500/,
    error: "server",
    requests: 6,
  },
];

for (const { what, script, code, outcome, says, error, requests = 1 } of cases) {
  test(`${what}: ${outcome}, exit code ${code}`, async (t) => {
    const world = new World(t, quickTimers);
    const server = await world.server(script);
    const place = [...world.place(server), "--session", "ends"];
    const json = await world.pawl(["run", "Say it", "--json", ...place]);
    const last = lastLine(json.stdout);
    assert.deepEqual([json.code, last.ok, last.outcome, last.error?.exit], [code, false, outcome, code], json.stderr);
    assert.equal(last.error?.code, error ?? last.error?.code);
    assert.equal(server.requests.length, requests);
    assert.equal(eventsOf(json.stdout).at(-1)?.type, "turn.ended");
    assert.equal((await world.verified("ends")).code, 0);

    const again = await world.server(script);
    const story = await world.pawl(["run", "Say it", ...world.place(again)]);
    assert.equal(story.code, code);
    assert.match(story.stderr, says);
    assert.match(
      story.stderr,
      /To go on: pawl (continue \w+|run "what to do next" --session \w+) --model openai-chat:scripted --base-url http:/,
    );
    assert.doesNotMatch(story.stderr, /\n\s+at /, "a stack trace");
  });
}

test("rate-limited: the summary names the moment", async (t) => {
  const world = new World(t);
  const server = await world.server([{ status: 429, headers: { "retry-after": "9999" } }]);
  const { stdout } = await world.pawl(["run", "Say it", "--json", ...world.place(server)]);
  const ended = eventsOf(stdout).at(-1);
  assert.equal(lastLine(stdout).error?.until, (ended?.["outcome"] as { until?: number } | undefined)?.until);
  const wait = (lastLine(stdout).error?.until ?? 0) - (ended?.time ?? 0);
  assert.ok(wait > 9_900_000 && wait <= 9_999_000, `${wait} ms`);
});
