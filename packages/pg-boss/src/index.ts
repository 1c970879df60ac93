/** `@pawl/pg-boss`: inputs later, by schedule and by queue; a queue wakes, the store decides. */

export { type FailedTurn, type FailedTurnOptions, sendFailedTurns } from "./failed-turn.ts";
export { type Fate, fateOf } from "./fate.ts";
export type { PostJob, QueuedPost } from "./post-job.ts";
export { type PostQueue, type PostQueueOptions, postQueue, type Schedule, type SendWhen } from "./post-queue.ts";
