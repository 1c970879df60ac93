/**
 * Judges an attempt by how its stream ended: good, or which failure. Pure.
 *
 * Good means: a terminal frame or finish with a reason that is an answer, no error part before it, and something
 * delivered. Each clause has a counter-example in the wild; a lost frame once turned `rm /srv/data/tmp/old` into `/srv/data`.
 */
import { unreachable } from "../error.ts";
import type { Detector, Failure, FailureKind } from "../log/value.ts";
import type { Assembler } from "./assemble.ts";
import { type Circumstances, classify, failureOf } from "./failure.ts";

/** Undefined: the attempt is good. `at` says what the wire knows; the stream is taken as answered. */
export function verdict(assembler: Assembler, at: Omit<Circumstances, "streaming" | "detector">): Failure | undefined {
  const { errors, finish } = assembler;
  // Whatever a frame could not tell us, the stream is broken at it: reading on is how half a call gets executed.
  if (errors.length > 0) return classify(errors[0], { ...at, streaming: true, detector: "error-part" });
  if (!finish) return cutOff(assembler, "the stream ended without a finish");
  switch (finish.reason) {
    case "interrupted":
    case "error":
      return cutOff(assembler, "the stream ended before its finish");
    case "other":
      return ended(
        "unknown",
        `the provider ended the answer with a reason we do not know: ${finish.raw ?? "none given"}`,
      );
    case "content-filter":
      // Calls beside a filter's veto must not run, and a message whose calls nobody answers cannot stand.
      return assembler.delivers() && assembler.calls().length === 0
        ? undefined
        : ended("filtered", `the provider's filter ended the answer: ${finish.raw ?? finish.reason}`);
    case "length":
      return assembler.delivers() ? undefined : ended("empty", "the output limit was reached before any answer");
    case "stop":
    case "tool-calls":
      return assembler.delivers() ? undefined : ended("empty", "the answer has no text and no tool call");
    default:
      return unreachable(finish.reason);
  }
}

function cutOff(assembler: Assembler, message: string): Failure {
  const detector: Detector = "end-of-stream";
  return assembler.parts.length === 0 && assembler.usage.measure === "unknown"
    ? failureOf("empty", "the stream ended without any output", detector)
    : failureOf("stream-broken", message, detector);
}

function ended(kind: FailureKind, message: string): Failure {
  return failureOf(kind, message, "terminal-frame");
}
