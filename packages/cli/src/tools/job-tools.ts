import { defineTool, type Tool } from "@pawl/core";
import { z } from "zod";
import type { Jobs } from "./jobs.ts";
import type { SecretMask } from "./secret-mask.ts";
import type { SpillFolder } from "./spill-folder.ts";

/** Below the runtime's deadline for a tool that says nothing of its own. */
const longestWaitMs = 9 * 60_000;
/** TERM, KILL and the last output take their time. */
const endMs = 10_000;

const id = z.string().describe("As bash gave it, for example job-1a2b3c4d.");
const outputSchema = z.object({
  id: id.optional(),
  waitMs: z
    .number()
    .int()
    .min(0)
    .max(longestWaitMs)
    .optional()
    .describe(`Wait up to so many milliseconds (default 0, at most ${longestWaitMs}).`),
  until: z.enum(["end", "output"]).optional().describe("What is waited for: its end (default), or the next output."),
});
const killSchema = z.object({ id });

/** What a job said since the last look (in this process), and how it is; without `id`, the list of jobs. */
export function jobOutputTool(jobs: Jobs, spill: SpillFolder, mask: SecretMask): Tool<z.infer<typeof outputSchema>> {
  return defineTool({
    description:
      "Gives what a background job (bash with background) has said since you last looked, and whether it runs or how it ended. " +
      "With waitMs it waits for its end, or for the next output. Without id it lists the jobs.",
    inputSchema: outputSchema,
    effect: "read",
    // A wait holds up nobody.
    locks: () => [],
    async execute({ id, waitMs = 0, until = "end" }, { signal }) {
      if (id === undefined) {
        const list = await jobs.list();
        return list.length === 0 ? "There are no jobs." : list.map((job) => job.summary()).join("\n");
      }
      const job = await jobs.find(id);
      if (waitMs > 0) await job.wait(waitMs, until, signal);
      signal.throwIfAborted();
      return await job.report(spill, mask);
    },
  });
}

export function jobKillTool(jobs: Jobs, spill: SpillFolder, mask: SecretMask): Tool<z.infer<typeof killSchema>> {
  return defineTool({
    description: "Ends a background job with all that it started, and gives the rest of its output.",
    inputSchema: killSchema,
    effect: "idempotent",
    locks: () => [],
    async execute({ id }, { signal }) {
      const job = await jobs.find(id);
      await job.refresh();
      if (job.state.type === "running") {
        await jobs.kill(job);
        await job.wait(endMs, "end", signal);
      }
      return await job.report(spill, mask);
    },
  });
}
