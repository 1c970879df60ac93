import assert from "node:assert/strict";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, InMemorySpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { createSession, defineTool } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { observe, record, SpanIds } from "@pawl/otel";
import { z } from "zod";

// Your OpenTelemetry set-up. These exporters keep what they get; OTLP exporters go in the same two places.
const ids = new SpanIds(); // a turn told twice is one trace; leave it out and the tracer makes ids as it likes
const spans = new InMemorySpanExporter();
const tracing = new TracerProvider({ idGenerator: ids, spanProcessors: [new BatchSpanProcessor({ exporter: spans })] });
const figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const metering = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: figures })] });
const tracer = tracing.getTracer("my-app");
const meter = metering.getMeter("my-app");

const model = scriptedModel([
  [...call("weather", { city: "Oslo" }), finish("tool-calls")],
  [...say("It is cold in "), { fail: new TypeError("terminated") }],
  [...say("It is cold in Oslo."), finish()],
]);
const weather = defineTool({
  inputSchema: z.object({ city: z.string() }),
  effect: "read",
  execute: async ({ city }) => `${city}: -4 degrees`,
});
const recovery = { backoff: { firstMs: 1, factor: 1, capMs: 1 } };

const session = await createSession(memoryRuntime());
const turn = session.run({ model, tools: { weather }, recovery }, "How is the weather in Oslo?");
const told = observe(turn, { tracer, meter, ids, session, agent: "weatherman" }); // in the same tick as `run`
await Promise.all([turn.result, told]);

await tracing.forceFlush();
for (const { name, attributes } of spans.getFinishedSpans())
  console.log(name, attributes["error.type"] ?? "", attributes["pawl.decision.action"] ?? "");
await metering.forceFlush();
const [collected] = figures.getMetrics();
for (const { descriptor } of collected?.scopeMetrics[0]?.metrics ?? []) console.log(descriptor.name, descriptor.unit);

// What nobody watched is told from the log: the same spans, at the times they had.
const live = spans.getFinishedSpans().map((span) => [span.name, span.spanContext().spanId, span.startTime]);
spans.reset();
record(await session.entries(), { tracer, ids, agent: "weatherman" });
await tracing.forceFlush();
assert.deepEqual(
  spans.getFinishedSpans().map((span) => [span.name, span.spanContext().spanId, span.startTime]),
  live,
);
await Promise.all([tracing.shutdown(), metering.shutdown()]);
