export { parseScript } from "./grammar.ts";
export { Issued, type Provenance } from "./issued.ts";
export { judge } from "./judge/judge.ts";
export type { JudgeOptions, ReasoningMood, Rule, Verdict, Violation } from "./judge/verdict.ts";
export type { ScriptFunction } from "./prompter.ts";
export { PROTOCOLS, type Protocol } from "./protocol/protocol.ts";
export type { Ending, RecordedRequest } from "./record.ts";
export type {
  CallStep,
  Drop,
  Entry,
  Fault,
  Finish,
  Json,
  MoreStep,
  PlayedEntry,
  ReasonStep,
  Script,
  ScriptObject,
  StatusEntry,
  Step,
  TextStep,
  Usage,
  When,
} from "./script.ts";
export { type ModelServer, type ModelServerOptions, startModelServer } from "./server.ts";
export { ScriptError } from "./shape.ts";
