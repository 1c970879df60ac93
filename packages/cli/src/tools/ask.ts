import { defineTool, type Tool } from "@pawl/core";
import { z } from "zod";
import type { Asking } from "./asking.ts";

export interface AskedQuestion {
  /** The call that asks. */
  call: string;
  question: string;
  /** Suggestions; any other answer is as good. */
  choices: readonly string[];
}

/** Asks a person; undefined where no answer came (the input has ended, or the signal aborts). */
export type Asker = (question: AskedQuestion, signal: AbortSignal) => Promise<string | undefined>;

const inputSchema = z.object({
  question: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .describe("One question, with what the person needs to know to answer it."),
  choices: z
    .array(z.string().trim().min(1).max(200))
    .max(8)
    .optional()
    .describe("Answers to choose from, if there are any."),
});

/**
 * A question to the person; their answer is the result. It waits for as long as it takes, and one question is asked at a time. Without
 * `asker` it says at once that nobody can be asked. After a crash whoever resumes is asked again.
 */
export function askTool(asker: Asker | undefined): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Asks the person a question and gives their answer. Only for what you can neither find out nor decide yourself: what is wanted, " +
      "or which of several ways they prefer.",
    inputSchema,
    effect: "read",
    locks: () => [{ key: "ask", mode: "write" }],
    // Only waiting for a person is without an end.
    timeoutMs: 0,
    async execute({ question, choices = [] }, { signal, callId, progress }) {
      const answer =
        asker && (await asked(asker, { call: callId, question, choices }, signal, (asking) => progress({ ...asking })));
      if (answer !== undefined && answer.trim() !== "") return answer;
      const why = asker ? "No answer was given." : "Nobody can be asked here.";
      const text = `${why} Decide yourself what is most likely wanted, say what you assumed, and choose what can be undone.`;
      return { content: [{ type: "text", text }], isError: true };
    },
  });
}

async function asked(
  asker: Asker,
  question: AskedQuestion,
  signal: AbortSignal,
  tell: (asking: Asking) => void,
): Promise<string | undefined> {
  tell({ asks: question.question });
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
  const onAbort = () => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    // A view that does not listen holds up nobody.
    return await Promise.race([asker(question, signal), stopped]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    signal.throwIfAborted();
  }
}
