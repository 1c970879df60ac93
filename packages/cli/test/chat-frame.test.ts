/** What a chat shows: live items at a width give frames of text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEvent } from "@pawl/core";
import fc from "fast-check";
import { lineText, widthOf } from "../src/chat/span.ts";
import { attempt, begun, broke, ChatWorld, committed, entered, finished, settled } from "./chat-world.ts";

function driving(): ChatWorld {
  const world = new ChatWorld();
  world.desk.mode = "driving";
  return world;
}

test("a turn from its input to its end: printed once, and nothing of it stays live", () => {
  const world = driving();
  world.event(...begun, attempt());
  world.say("It is **done**.");
  assert.equal(world.live, "It is done.\n\n› \nanswering · m");
  world.event(...committed("It is **done**."), ...finished);
  world.desk.mode = "idle";
  assert.equal(world.live, "› \nidle · m · context 1,020 · 20 out");
  assert.equal(
    world.printed.join("\n"),
    "› Fix it\n\nIt is done.\n\n✓ done · 0 ms · 1 request · 1,000 tokens in, 20 out",
  );
  assert.equal(world.frame().printed.length, 0);
});

test("withdrawn words that were still live are replaced in place, with a line that says which", () => {
  const world = driving();
  world.event(...begun, attempt());
  world.say("I will tell you that");
  assert.match(world.live, /I will tell you that/);
  world.event(broke("discarded", 3_000));
  assert.match(
    world.screen,
    /⌫ withdrawn: “I will tell you that” \(5 words\)\n✗ The connection broke: read ECONNRESET/,
  );
  assert.doesNotMatch(world.printed.join("\n"), /^I will tell/m);
  assert.match(world.live, /trying again in 3 s · attempt 2 of 6 · Enter or r tries now,\nEsc stops\n› \nretrying/);
  world.now += 1_000;
  assert.match(world.live, /trying again in 2 s/);
  world.event(attempt(2));
  assert.doesNotMatch(world.live, /trying again/);
});

test("withdrawn words of which a part has scrolled away: a clear break", () => {
  const world = driving();
  world.size = { columns: 60, rows: 10 };
  world.event(...begun, attempt());
  world.say(Array.from({ length: 20 }, (_, at) => `Paragraph ${at}.`).join("\n\n"));
  world.frame();
  assert.ok(world.printed.includes("Paragraph 0."));
  world.event(broke("discarded", 0));
  assert.match(world.screen, /── the words above are withdrawn ──\n✗ The connection broke/);
});

test("an answer longer than the screen is printed whole, each word once, also when the width changes meanwhile", () => {
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  const piece = fc.oneof(word, fc.constant("\n\n"), fc.constant("\n- "), fc.constant("**b** "), fc.constant("日本語 "));
  const step = fc.oneof(
    { weight: 5, arbitrary: piece.map((text) => ({ text })) },
    {
      weight: 1,
      arbitrary: fc.record({ columns: fc.integer({ min: 20, max: 120 }), rows: fc.integer({ min: 6, max: 30 }) }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.boolean(), (steps, resizes) => {
      const world = driving();
      world.event(...begun, attempt());
      let said = "";
      for (const one of steps) {
        if ("text" in one) {
          said += `${one.text} `;
          world.say(`${one.text} `);
        } else if (resizes) world.size = one;
        const { live } = world.frame();
        assert.ok(live.length < world.size.rows, `${live.length} rows on ${world.size.rows}`);
        for (const line of live) assert.ok(widthOf(lineText(line)) <= world.size.columns);
      }
      world.event(...committed(said), ...finished);
      world.frame();
      const words = (text: string): string[] => text.match(/[a-z]{1,12}|日本語/g) ?? [];
      const shown = words(
        world.printed
          .slice(
            2,
            world.printed.findIndex((line) => line.startsWith("✓ done")),
          )
          .join("\n"),
      );
      // A row that was cut anew may come twice; none may be missing.
      if (!resizes) assert.deepEqual(shown, words(said));
      else for (const word of new Set(words(said))) assert.ok(shown.includes(word), word);
    }),
    { numRuns: 60 },
  );
});

test("one block that is longer than the screen is printed as it comes, each row once", () => {
  for (const [head, sign, tail] of [
    ["```\n", "", "```"],
    ["", "- ", ""],
    ["| n | text |\n|---|---|\n", "| ", ""],
  ] as const) {
    const world = driving();
    world.size = { columns: 40, rows: 9 };
    world.event(...begun, attempt());
    let said = head;
    for (let at = 100; at < 160; at += 1) said += `${sign}row ${at}${sign === "| " ? " | x |" : ""}\n`;
    said += tail;
    for (const line of said.split(/(?<=\n)/)) {
      world.say(line);
      world.frame();
    }
    assert.ok(
      world.printed.some((line) => line.includes("row 120")),
      "it is printed before it is whole",
    );
    world.event(...committed(said), ...finished);
    world.frame();
    const rows = world.printed.flatMap((line) => /row (\d+)/.exec(line)?.[1] ?? []);
    assert.deepEqual(
      rows,
      Array.from({ length: 60 }, (_, at) => String(100 + at)),
    );
  }
});

test("a question shows the whole command or the edits, then asks; the answer is told", () => {
  const world = driving();
  const edit = { path: "a.ts", edits: [{ old: "one", new: "two" }] };
  world.event(...begun, attempt(), ...committed("I edit.", [{ id: "a-2", tool: "edit", input: edit }]));
  world.event({ type: "approval.requested", approval: "ap", call: "a-2", digest: "d", ordinal: 1 });
  assert.match(
    world.screen,
    /\? edit a\.ts\n {2}│ - one\n {2}│ \+ two\nAllow this\? y yes · a always \(edit a\.ts\) · A all from now on\n· n no\n› \nasks you/,
  );
  world.event({
    type: "approval.resolved",
    approval: "ap",
    answer: "deny",
    by: "terminal",
    scope: "call",
    reason: "not that file",
  });
  assert.match(world.printed.concat(world.live).join("\n"), / {2}denied by terminal: not that file/);
  assert.doesNotMatch(world.live, /Allow this/);
});

test("a running command shows the last of its output and its time, then one line and an excerpt", () => {
  const world = driving();
  world.event(
    ...begun,
    attempt(),
    ...committed("", [{ id: "a-1", tool: "bash", input: { command: "npm test" } }]),
    entered("a-1", "bash"),
  );
  for (let at = 1; at <= 6; at += 1)
    world.see({ type: "tool.progress", call: "a-1", data: { output: `line ${at}\n` } });
  world.now += 4_000;
  assert.match(
    world.live,
    /^→ bash npm test · 4 s\n {2}│ line 3\n {2}│ line 4\n {2}│ line 5\n {2}│ line 6\n\n› \nrunning bash 4 s/,
  );
  world.event(settled("a-1", "line 1\n[exit code 1]", true));
  assert.match(world.screen, /✗ bash npm test\n {2}│ line 1\n {2}│ \[exit code 1\]/);
});

test("thoughts take one line; what was thought can be seen, also of a sealed one", () => {
  const world = driving();
  world.event(...begun, attempt());
  world.see({ type: "part.started", attempt: "a", part: "a-1", kind: "reasoning" });
  world.say("First this.\nThen that.", "a-1", "reasoning");
  world.now += 5_000;
  assert.match(world.live, /^∙ thinking for 5 s\n\n› \nthinking/);
  world.type("\u000f");
  assert.match(world.live, /│ First this\.\n│ Then that\./);
  world.event(broke("sealed", 0));
  assert.match(world.screen, /∙ the thought broke off, kept as a note \(Ctrl-O shows it\)/);
  assert.deepEqual(world.type("\u000f"), [{ do: "show-thought" }]);
  world.desk.story.tellThought();
  assert.match(world.screen, /│ First this\.\n│ Then that\./);
});

test("a full disk is said, and that it goes on by itself", () => {
  const world = driving();
  world.event(...begun, attempt());
  world.see({ type: "paused", reason: "no space left", since: 0 });
  assert.match(
    world.screen,
    /! Paused: no space left\n {2}It goes on by itself[\s\S]*paused, waiting for room on the disk/,
  );
  world.see({ type: "resumed" });
  assert.match(world.screen, /✓ There is room again[\s\S]*waiting for the model/);
});

test("the share of the window is in the status line where the window is known", () => {
  const world = driving();
  world.windowTokens = 10_000;
  world.event(...begun, attempt(), ...committed("Hi."), ...finished);
  assert.match(world.live, /context 1,020 \(10 %\)/);
});

test("messages that wait stand above the composer, oldest first, and are counted", () => {
  const world = driving();
  world.desk.waiting = [
    { id: "1", kind: "steer", text: "this way" },
    { id: "2", kind: "prompt", text: "and then\nthat" },
  ];
  assert.match(
    world.live,
    /» steers next: this way\n⧗ waits: and then that\n› \nwaiting for the model 10 s · 2 waiting/,
  );
});

test("controls and marks in foreign words never reach the screen", () => {
  const world = driving();
  const evil = "\u001b[2Jred\u001b]0;title\u0007 \u202eback `\u001b[31m`";
  world.event(...begun, attempt());
  world.say(evil);
  const calls = [{ id: "a-2", tool: "ba\u001bsh", input: { command: `echo ${evil}` } }];
  world.event(...committed(evil, calls), entered("a-2", "bash"));
  world.see({ type: "tool.progress", call: "a-2", data: { output: evil } });
  world.event(settled("a-2", evil, true), { type: "note.recorded", about: "x", text: evil });
  world.desk.waiting = [{ id: "1", kind: "prompt", text: evil }];
  world.type(`\u001b[200~${evil}\u001b[201~`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
  assert.doesNotMatch(world.screen, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
});

test("at any width from 20 to 300 no row is too wide and the composer is there", () => {
  const world = driving();
  const events: LogEvent[] = [
    ...begun,
    attempt(),
    ...committed("| a | b |\n|---|---|\n| 1 | 👩‍💻 日本語 |\n\n> quoted\n\n1. one\n2. two", [
      { id: "a-2", tool: "bash", input: { command: "x".repeat(400) } },
    ]),
  ];
  for (let columns = 20; columns <= 300; columns += 7) {
    const one = driving();
    one.size = { columns, rows: 24 };
    one.event(...events, entered("a-2", "bash"));
    one.desk.waiting = [{ id: "1", kind: "steer", text: "y".repeat(500) }];
    one.type("z".repeat(250));
    const { live, printed, cursor } = one.frame();
    for (const line of [...live, ...printed]) assert.ok(widthOf(lineText(line)) <= columns, lineText(line));
    assert.ok(cursor.column < columns && cursor.row < live.length);
  }
  assert.ok(world);
});
