/** What keys mean: in the composer, while a turn runs, before a question, when something waits or is offered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matching, wordAt } from "../src/chat/completion.ts";
import { KeyReader } from "../src/chat/key.ts";
import { attempt, begun, broke, ChatWorld, committed } from "./chat-world.ts";

const up = "\u001b[A";
const down = "\u001b[B";
const left = "\u001b[D";
const esc = "\u001b";
const altEnter = "\u001b\r";

function driving(): ChatWorld {
  const world = new ChatWorld();
  world.desk.mode = "driving";
  world.event(...begun, attempt());
  return world;
}

function asked(): ChatWorld {
  const world = driving();
  world.event(...committed("", [{ id: "a-1", tool: "bash", input: { command: "rm x" } }]));
  world.event({ type: "approval.requested", approval: "ap", call: "a-1", digest: "d", ordinal: 1 });
  return world;
}

test("Enter sends; while a turn runs it steers, Tab and Alt-Enter queue", () => {
  assert.deepEqual(new ChatWorld().type("hi\r"), [{ do: "send", text: "hi", when: "now" }]);
  const world = driving();
  assert.deepEqual(world.type("this way\r"), [{ do: "send", text: "this way", when: "now" }]);
  assert.deepEqual(world.type("then that\t"), [{ do: "send", text: "then that", when: "next" }]);
  assert.deepEqual(world.type(`and more${altEnter}`), [{ do: "send", text: "and more", when: "next" }]);
});

test("a new line by Ctrl-J, a backslash before Enter, Shift-Enter where the terminal tells it, and Alt-Enter when idle", () => {
  const world = new ChatWorld();
  assert.deepEqual(world.type(`a\nb\\\rc\u001b[13;2ud\u001b[27;2;13~e${altEnter}f\r`), [
    { do: "send", text: "a\nb\nc\nd\ne\nf", when: "now" },
  ]);
});

test("a large paste is one sign: shown as a placeholder, taken out whole, sent whole; a small one is text", () => {
  const world = new ChatWorld();
  const large = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
  world.type(`see \u001b[200~${large}\u001b[201~ and \u001b[200~two\r\nlines\u001b[201~`);
  assert.match(world.live, /see \[pasted: 40 lines\] and two\n {2}lines/);
  assert.deepEqual(world.type("\r"), [{ do: "send", text: `see ${large} and two\nlines`, when: "now" }]);
  world.type(`\u001b[200~${large}\u001b[201~\u007f`);
  assert.equal(world.desk.composer.whole, "");
});

test("a paste never sends, answers or stops anything, whatever is in it", () => {
  const world = asked();
  world.now += 5_000;
  assert.deepEqual(world.type("\u001b[200~y\r\u0003\u0004\u001b[201~"), []);
  assert.equal(world.desk.composer.whole, "y\n");
});

test("a question is answered by one key, or by a word and Enter", () => {
  const answers: [string, unknown][] = [
    ["y", { answer: "allow" }],
    ["a", { answer: "always" }],
    ["A", { answer: "all" }],
    ["n\r", { answer: "deny" }],
    ["nnot that\r", { answer: "deny", reason: "not that" }],
  ];
  for (const [typed, answer] of answers) {
    const world = asked();
    world.now += 1_000;
    const intents = [...typed.slice(0, 1), typed.slice(1)].flatMap((keys) => world.type(keys));
    assert.deepEqual(intents, [{ do: "answer", approval: "ap", ...(answer as object) }], typed);
  }
  assert.deepEqual(asked().type("yes\r"), [{ do: "answer", approval: "ap", answer: "allow" }]);
  assert.deepEqual(asked().type("no, it is old\r"), [
    { do: "answer", approval: "ap", answer: "deny", reason: "it is old" },
  ]);
});

test("a key that was meant for the composer never allows: not in a draft, not in the moment the question appears", () => {
  const world = asked();
  assert.deepEqual(world.type("a"), []);
  world.now += 1_000;
  assert.deepEqual(world.type("ny day\r"), [{ do: "send", text: "any day", when: "now" }]);
  const drafting = driving();
  drafting.type("why d");
  drafting.event(...committed("", [{ id: "a-1", tool: "bash", input: {} }]));
  drafting.event({ type: "approval.requested", approval: "ap", call: "a-1", digest: "d", ordinal: 1 });
  drafting.now += 1_000;
  assert.deepEqual(drafting.type("ay"), []);
});

test("the key that answers one question does not answer the next one, which nobody has read", () => {
  const world = driving();
  const calls = ["a-1", "a-2"].map((id) => ({ id, tool: "bash", input: { command: id } }));
  world.event(...committed("", calls));
  for (const [at, { id }] of calls.entries())
    world.event({ type: "approval.requested", approval: `ap${at}`, call: id, digest: "d", ordinal: 1 });
  world.now += 5_000;
  assert.deepEqual(world.type("y"), [{ do: "answer", approval: "ap0", answer: "allow" }]);
  world.event({ type: "approval.resolved", approval: "ap0", answer: "allow", by: "terminal", scope: "call" });
  assert.deepEqual(world.type("y"), []);
  world.type("\u007f");
  world.now += 1_000;
  assert.deepEqual(world.type("y"), [{ do: "answer", approval: "ap1", answer: "allow" }]);
});

test("while a wait is counted down, Enter on an empty line or r tries now; a draft does not", () => {
  for (const typed of ["\r", "r"]) {
    const world = driving();
    world.event(broke("discarded", 9_000));
    assert.deepEqual(world.type(typed), [{ do: "retry" }]);
  }
  const world = driving();
  world.event(broke("discarded", 9_000));
  assert.deepEqual(world.type("xr"), []);
});

test("Esc stops the turn and keeps the draft, again leaves; Ctrl-C clears a draft first; Ctrl-D leaves only an idle desk", () => {
  const world = driving();
  world.type("draft");
  assert.deepEqual(world.type(esc), [{ do: "interrupt" }]);
  assert.equal(world.desk.composer.text, "draft");
  world.desk.stops = true;
  assert.deepEqual(world.type(esc), [{ do: "leave" }]);
  const other = driving();
  other.type("draft");
  assert.deepEqual(other.type("\u0003"), []);
  assert.equal(other.desk.composer.text, "");
  assert.deepEqual(other.type("\u0003"), [{ do: "interrupt" }]);
  assert.deepEqual(driving().type("\u0004"), [{ do: "interrupt" }]);
  const idle = new ChatWorld();
  assert.deepEqual(idle.type("\u0003"), []);
  assert.deepEqual(idle.type("\u0003"), [{ do: "leave" }]);
  assert.deepEqual(new ChatWorld().type("\u0004"), [{ do: "leave" }]);
  const slow = new ChatWorld();
  slow.type("\u0003");
  slow.now += 5_000;
  assert.deepEqual(slow.type("\u0003"), []);
});

test("Up on an empty line takes the last waiting message to be changed; empty takes it back; Esc leaves it", () => {
  const world = driving();
  world.desk.waiting = [{ id: "w1", kind: "steer", text: "old" }];
  world.type(up);
  assert.match(world.live, /change: old/);
  assert.deepEqual(world.type("er\r"), [{ do: "edit", id: "w1", text: "older" }]);
  world.type(`${up}${esc}`);
  assert.equal(world.desk.composer.text, "");
  assert.deepEqual(world.type(`${up}\u0015\r`), [{ do: "withdraw", id: "w1" }]);
});

test("history: up and down, the draft comes back, a line of several is walked through first", () => {
  const world = new ChatWorld(["first", "two\nlines"]);
  world.type("draft");
  world.type(up);
  assert.equal(world.desk.composer.text, "two\nlines");
  world.type(`${up}${up}`);
  assert.equal(world.desk.composer.text, "first");
  world.type(up);
  assert.equal(world.desk.composer.text, "first");
  world.type(`${down}${down}`);
  assert.equal(world.desk.composer.text, "draft");
});

test("what is offered is taken by Enter on an empty line, and only when nobody drives", () => {
  const world = new ChatWorld();
  assert.deepEqual(world.type("\r"), []);
  world.desk.offer = "resume";
  assert.deepEqual(world.type("\r"), [{ do: "accept-offer" }]);
  world.desk.mode = "watching";
  assert.deepEqual(world.type("\r"), []);
});

test("a slash begins a command, completed by Tab or Enter; a path is no command", () => {
  const world = new ChatWorld();
  world.type("/model");
  assert.match(world.live, /▸ \/model {2}PROVIDER:ID: which model/);
  world.type("\t");
  assert.equal(world.desk.composer.text, "/model ");
  assert.deepEqual(world.type("openai:gpt-5\r"), [{ do: "command", name: "model", rest: "openai:gpt-5" }]);
  assert.deepEqual(world.type("/help\r"), [{ do: "command", name: "help", rest: "" }]);
  assert.deepEqual(world.type("/usr/bin is a folder\r"), [{ do: "send", text: "/usr/bin is a folder", when: "now" }]);
});

test("@ asks for the files once, completes them, and Esc closes the list without stopping a turn", () => {
  const world = driving();
  assert.deepEqual(world.type("see @al"), [{ do: "want-files" }]);
  world.desk.filesCame(["src/alpha.ts", "docs/talk.md", "b.ts"]);
  assert.match(world.live, /▸ @src\/alpha\.ts\n {2}@docs\/talk\.md/);
  assert.deepEqual(world.type(esc), []);
  assert.doesNotMatch(world.live, /▸/);
  world.type(" @tlk\t");
  assert.equal(world.desk.composer.text, "see @al @docs/talk.md ");
  assert.deepEqual(wordAt("mail me@host", 12), undefined);
});

test("the best completion first: the name's start, the name, the path, letters in order", () => {
  const choices = ["a/b/c.ts", "lib/xabc.ts", "abc/readme.md", "src/abc.ts"].map((text) => ({ text }));
  assert.deepEqual(
    matching(choices, "abc").map(({ text }) => text),
    ["src/abc.ts", "lib/xabc.ts", "abc/readme.md", "a/b/c.ts"],
  );
});

test("keys are the same wherever the stream is cut", () => {
  const pieces = fc.constantFrom(
    "a",
    "日",
    "👩‍💻",
    "\r",
    "\t",
    up,
    left,
    altEnter,
    "\u001b[1;5C",
    "\u001bOP",
    "\u001b[13;2u",
    "\u001b[200~p\r\u001b[A\u001b[201~",
    "\u0003",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.array(fc.nat(40), { maxLength: 8 }), (parts, cuts) => {
      // Whole code points: the stream is decoded before it is read.
      const sent = Array.from(parts.join(""));
      const whole = new KeyReader();
      const joined = (keys: ReturnType<KeyReader["read"]>) =>
        JSON.stringify(keys).replaceAll('"},{"type":"text","text":"', "");
      const cut = new KeyReader();
      const places = [...new Set([0, ...cuts.filter((at) => at < sent.length), sent.length])].sort((a, b) => a - b);
      const keys = places.slice(1).flatMap((end, at) => cut.read(sent.slice(places[at], end).join("")));
      assert.equal(joined(keys), joined(whole.read(sent.join(""))));
    }),
  );
});

test("moving and deleting keep to what a person takes for one character", () => {
  const world = new ChatWorld();
  world.type(`a👩‍💻e\u0301${left}${left}\u007f`);
  assert.equal(world.desk.composer.text, "👩‍💻e\u0301");
  world.type("\u001b[3~");
  assert.equal(world.desk.composer.text, "e\u0301");
});

test("any keys at all: the desk stays sound and the cursor is in the frame", () => {
  const keys = fc.constantFrom(
    "a",
    " ",
    "\n",
    "\r",
    "\t",
    "\u007f",
    "日",
    "👍🏽",
    up,
    down,
    left,
    "\u001b[C",
    "\u001b[H",
    "\u001b[F",
    "\u0017",
    "\u0015",
    "\u000b",
    "\u0019",
    "\u001bb",
    "\u001bf",
    "/",
    "@",
    "\\",
    esc,
    "\u0003",
    "\u001b[200~p\np\np\np\np\np\np\np\u001b[201~",
  );
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 60 }), fc.integer({ min: 20, max: 90 }), (typed, columns) => {
      const world = driving();
      world.size = { columns, rows: 12 };
      world.desk.filesCame(["a.ts", "b/c.ts"]);
      for (const one of typed) {
        world.type(one);
        world.now += 100;
        const { live, cursor } = world.frame();
        assert.ok(cursor.row >= 0 && cursor.row < live.length && cursor.column < columns);
        const { text, cursor: at } = world.desk.composer;
        assert.ok(at >= 0 && at <= text.length);
      }
    }),
    { numRuns: 80 },
  );
});
