/** `@pawl/core/store`: what whoever writes a store builds it from, so that every store checks and refuses alike. */

export type { Clock, Timers } from "./effects.ts";
export type { ErasedPayload, LogRecord } from "./log/envelope.ts";
export { taskPrefix } from "./log/shape.ts";
export {
  admitAppend,
  admitClaim,
  admitCreate,
  admitErasure,
  admitLease,
  admitName,
  admitPost,
  admitPostIds,
  admitRestored,
  admitSessionId,
  admitTtl,
  maxSeq,
  pageLimit,
} from "./store/admission.ts";
export { headOf, holderOf } from "./store/json-column.ts";
export {
  conflict,
  fenced,
  noParent,
  noPost,
  noSession,
  notOwn,
  otherPayload,
  postsWait,
  sessionExists,
  storeClosed,
  unread,
} from "./store/refusal.ts";
export type {
  AppendBatch,
  ClaimOptions,
  CreateSession,
  Erasure,
  ForkPoint,
  Head,
  Holder,
  LeaseAnswer,
  LeaseInfo,
  MailboxEntry,
  News,
  Partial,
  Post,
  RestoreSession,
  SessionSummary,
  Snapshot,
  Store,
  Unchanged,
  Workspaces,
} from "./store/store.ts";
export { Watchers } from "./store/watch.ts";
