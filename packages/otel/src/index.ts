/** `@pawl/otel`: traces and metrics of sessions, by the OpenTelemetry conventions for generative AI. */
export { type Measurement, type MetricName, metrics } from "./convention.ts";
export { type FoldOptions, type Said, type TelemetryState, telemetryFold } from "./fold.ts";
export { type ObserveOptions, observe } from "./observe.ts";
export { type RecordOptions, record, type TelemetryOptions } from "./record.ts";
export type { Moment, SpanShape, TurnTrace } from "./span.ts";
export { SpanIds } from "./span-ids.ts";
export { type ObserveWorkerOptions, observeWorker } from "./worker.ts";
