/** `@pawl/core`: the runtime. Node's effects and the SQLite store are in `@pawl/core/node`. */

export { decide, type Moment, type Spent } from "./attempt/decide.ts";
export { classify } from "./attempt/failure.ts";
export { ModelCallFailed } from "./attempt/model-call-failed.ts";
export { type Backoff, defaultPolicy, type Preset, type RecoveryPolicy } from "./attempt/policy.ts";
export type { AttemptReport } from "./attempt/recovered-call.ts";
export { type RecoverOptions, recover } from "./attempt/recovering.ts";
export { defaultWatch, type WatchPolicy } from "./attempt/watchdog.ts";
export { watchedFetch } from "./attempt/watched-fetch.ts";
export { type Collected, type CollectOptions, collectBlobs } from "./doctor/blob-collection.ts";
export { type Pruned, type PruneOptions, prune } from "./doctor/prune.ts";
export { type Kept, type RetentionPolicy, retentionOf } from "./doctor/retention.ts";
export { checkSession, type SessionCheckup } from "./doctor/session-checkup.ts";
export type { Clock, Effects, Timers, Validation } from "./effects.ts";
export { type ErrorCode, isPawlError, PawlError } from "./error.ts";
export type { ForeignFormat } from "./foreign/heard.ts";
export {
  type ImportedMessages,
  type ImportMessagesOptions,
  type ImportPlace,
  importMessages,
  importTranscript,
} from "./foreign/import.ts";
export { type Repaired, type RepairOptions, repairMessages } from "./foreign/repair.ts";
export type { Repair, RepairKind } from "./foreign/repair-list.ts";
export { limit } from "./limit.ts";
export type { Envelope, LogEntry, LogRecord } from "./log/envelope.ts";
export type {
  CallPart,
  Effect,
  EventOf,
  EventType,
  Json,
  LogEvent,
  MessagePart,
  Part,
  ResultCode,
  ToolOutput,
} from "./log/event.ts";
export { type Fold, runFold } from "./log/fold.ts";
export type { Hole } from "./log/salvage.ts";
export { isId } from "./log/shape.ts";
export type {
  Decision,
  Exposure,
  Failure,
  FailureKind,
  ModelRef,
  Outcome,
  OutcomeType,
  ReasoningReplay,
  RequestHeader,
  Settings,
  Usage,
} from "./log/value.ts";
export type { Law, LawName, LawRun, Verdict, Violation } from "./log/verify.ts";
export { type JoinedSignal, joinSignals } from "./signal.ts";
export { erasePayloadOf } from "./store/erasure.ts";
export type { Finding } from "./store/finding.ts";
export { memoryStore } from "./store/memory.ts";
export type { ForkPoint, Head, Holder, LeaseInfo, Post, SessionSummary, Store, Workspaces } from "./store/store.ts";
export { exportSession, type ImportOptions, importSession } from "./store/transfer.ts";
export type {
  ApprovalAnswer,
  Approver,
  Permission,
  PermissionQuestion,
  PermissionVerdict,
  Unanswered,
} from "./tool/approval.ts";
export { capText, cleanText } from "./tool/output.ts";
export {
  type InputPatterns,
  type PermissionOptions,
  type PermissionRule,
  type PermissionWord,
  permissionOf,
  ruling,
} from "./tool/permission.ts";
export type { Site } from "./tool/site.ts";
export type { StandingAnswer } from "./tool/standing.ts";
export {
  type DoubtfulCall,
  defineTool,
  everything,
  type Lock,
  type Reconciled,
  type Tool,
  type ToolContext,
  type ToolSet,
} from "./tool/tool.ts";
export type { Agent } from "./turn/agent.ts";
export { type CompactionPolicy, defaultCompaction } from "./turn/compaction.ts";
export type { Dropped } from "./turn/drop.ts";
export type { QueuedInput } from "./turn/queue.ts";
export type { TurnResult } from "./turn/report.ts";
export { type RewindOptions, rewindSession } from "./turn/rewind.ts";
export {
  type AnswerOptions,
  createSession,
  forkSession,
  openSession,
  type Runtime,
  Session,
  type SessionFacts,
  Turn,
} from "./turn/session.ts";
export { isTaskSession, parentOfTask, type Subagent, type TaskInput, type TaskOptions, taskTool } from "./turn/task.ts";
export { laws, verify } from "./turn/verify.ts";
export type { WatchOptions } from "./turn/watch.ts";
export { createWorker, type Worker, type WorkerOptions } from "./turn/worker.ts";
export type { WorkerEvent } from "./turn/worker-event.ts";
export type { SnapshotRequest, Snapshotter } from "./turn/workspace-snapshot.ts";
export { type Account, type Books, booksFold } from "./view/books.ts";
export type { LiveItem, PendingApproval } from "./view/live.ts";
export {
  emptyTranscript,
  isRetracted,
  readItem,
  type Transcript,
  type TranscriptItem,
  type TranscriptMessage,
  type TranscriptPart,
  textOf,
  transcriptOf,
} from "./view/transcript.ts";
export { type WorkspaceWait, workspaceWait } from "./view/waiting.ts";
