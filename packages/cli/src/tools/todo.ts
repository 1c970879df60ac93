import { defineTool, PawlError, type Tool } from "@pawl/core";
import { z } from "zod";
import { visibleLine } from "./text.ts";

const signs = { pending: "[ ]", in_progress: "[>]", done: "[x]" } as const;

const inputSchema = z.object({
  items: z
    .array(
      z.object({
        text: z.string().trim().min(1).max(500).describe("One step, in a few words."),
        status: z.enum(["pending", "in_progress", "done"]),
      }),
    )
    .max(100)
    .describe("The whole list, in order. It replaces the one before."),
});

/** The model's list of steps. It is kept nowhere but in the conversation: the call holds the list, the result shows it. */
export function todoTool(): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Keeps your list of steps for work that has several: give the whole list each time, at most one step in_progress. " +
      "The person sees it. Not needed for small tasks.",
    inputSchema,
    effect: "read",
    locks: () => [],
    async execute({ items }) {
      const open = items.filter(({ status }) => status === "in_progress");
      if (open.length > 1) {
        const names = open.map(({ text }) => JSON.stringify(text)).join(", ");
        throw new PawlError("INVALID_INPUT", `${open.length} steps are in_progress (${names}): at most one is`);
      }
      if (items.length === 0) return "The list is empty.";
      const done = items.filter(({ status }) => status === "done").length;
      const lines = items.map(({ text, status }) => `${signs[status]} ${visibleLine(text)}`);
      return [...lines, `${done} of ${items.length} done`].join("\n");
    },
  });
}
