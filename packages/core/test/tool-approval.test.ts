/** What is known without asking anybody. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ApprovalResolved } from "../src/log/event.ts";
import { type Approval, judge, type Verdict } from "../src/tool/approval.ts";
import { callDigest, type PendingCall } from "../src/tool/pending.ts";
import { checkCall, prepareTools } from "../src/tool/prepare.ts";
import { callPart } from "./log-builder.ts";

const part = callPart("c1");
const yes: ApprovalResolved = { type: "approval.resolved", approval: "ap", answer: "allow", by: "ann", scope: "call" };
const question = { id: "ap", digest: callDigest(part), ordinal: 1, at: 0 };

async function verdict(call: Partial<PendingCall>, rest: Partial<Approval> = {}, tool = {}): Promise<Verdict["say"]> {
  const tools = await prepareTools({ act: { inputSchema: { type: "object" }, execute: () => "", ...tool } });
  const checked = await checkCall(part, tools, undefined);
  assert.ok(checked.ok);
  const approval: Approval = {
    permission: () => "ask",
    approver: undefined,
    unanswered: "deny",
    approvalMs: 0,
    standing: () => undefined,
    posted: () => undefined,
    onPost: () => () => {},
    ...rest,
  };
  return judge({ part, ...call }, checked, approval).say;
}

describe("R64: what decides about a call, in this order", () => {
  test("policy's no, policy's yes, an answer to this question, an answer that stands, else a person", async () => {
    const answered = { approval: { ...question, resolved: yes } };
    assert.equal(await verdict(answered, { permission: () => "deny" }), "refuse");
    assert.equal(await verdict({}, { permission: () => "allow", standing: () => "deny" }), "run");
    assert.equal(await verdict({ approval: { ...question, resolved: { ...yes, answer: "deny" } } }), "refuse");
    assert.equal(await verdict(answered, { standing: () => "deny" }), "run");
    assert.equal(await verdict({}, { standing: () => "deny" }), "refuse");
    assert.equal(await verdict({}, { standing: () => "allow" }), "run");
    assert.equal(await verdict({ approval: question }), "ask");
  });

  test("an answer to a call that has changed is void", async () => {
    const other = callDigest({ tool: "act", input: '{"other":1}' });
    assert.equal(await verdict({ approval: { ...question, digest: other, resolved: yes } }), "ask");
  });

  test("a tool that asks for approval gets it, whatever the policy allows; an answer that stands is one", async () => {
    const permission = () => "allow" as const;
    assert.equal(await verdict({}, { permission }, { needsApproval: true }), "ask");
    assert.equal(await verdict({}, { permission, standing: () => "allow" }, { needsApproval: true }), "run");
  });
});
