/**
 * What the demo's model says. It is the real agent that reads, edits and runs; only the words are written down. The
 * connection breaks three times: before any output, in the middle of a thought, in the middle of a sentence. The last entry
 * answers whoever takes the session over.
 */
import type { Entry } from "@pawl/model-server";

const test = "node --test";
const readMs = 300;

export const demoScript: readonly Entry[] = [
  [{ reset: true }],
  [
    { reason: "A failing test. First see what is there, then run it to", chunks: 6 },
    // The words must have been read before the reset, or it would overtake them.
    { wait: readMs },
    { reset: true },
  ],
  [
    { reason: "A failing test. First see what is there, then run it to know how it fails.", chunks: 6 },
    { text: "I'll look at the project and run its test first.", chunks: 5 },
    { call: "ls", input: {} },
    { call: "read", input: { path: "till.js" } },
    { call: "bash", input: { command: test } },
  ],
  [
    { text: "`total` adds the discount instead of taking it off: the si", chunks: 6, upTo: 6 },
    { wait: readMs },
    { reset: true },
  ],
  [
    { reason: "The sum is right; with a discount of 10 the factor is 1.1. It should be 0.9.", chunks: 6 },
    { text: "`total` adds the discount instead of taking it off: the sign is wrong.", chunks: 6 },
    { call: "edit", input: { path: "till.js", edits: [{ old: "(1 + discount / 100)", new: "(1 - discount / 100)" }] } },
  ],
  [
    { text: "Now the test again.", chunks: 2 },
    { call: "bash", input: { command: test } },
  ],
  [
    { text: "Both pass. Now I publish it.", chunks: 3 },
    { call: "bash", input: { command: "node publish.js" } },
  ],
  [
    {
      text: "Fixed and published: `total` in till.js takes the discount off now, both tests pass, till 1.0.1 is out.",
      chunks: 8,
    },
  ],
];
