/** The SDK with everything kept in memory: what a backend would get. */
import { type HrTime, SpanStatusCode } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { SpanIds } from "../src/index.ts";

export interface Seen {
  id: string;
  trace: string;
  parent: string | undefined;
  name: string;
  start: number;
  end: number;
  attributes: ReadableSpan["attributes"];
  events: { name: string; at: number; attributes: unknown }[];
  links: string[];
  failed: boolean;
  message: string | undefined;
}

export function collector() {
  const spans = new InMemorySpanExporter();
  const figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const ids = new SpanIds();
  const tracing = new TracerProvider({
    idGenerator: ids,
    spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
  });
  // Never by itself: a test collects when it has told everything.
  const reader = new PeriodicExportingMetricReader({ exporter: figures, exportIntervalMillis: 2 ** 30 });
  const metering = new MeterProvider({ readers: [reader] });
  return {
    ids,
    tracer: tracing.getTracer("test"),
    meter: metering.getMeter("test"),
    spans: () => spans.getFinishedSpans().map(seen),
    /** Sum and count of each series, by metric and attributes. */
    async figures(): Promise<Map<string, { sum: number; count: number }>> {
      const { resourceMetrics } = await reader.collect();
      const all = new Map<string, { sum: number; count: number }>();
      for (const { descriptor, dataPoints } of resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics))
        for (const { attributes, value } of dataPoints) {
          const key = `${descriptor.name} ${JSON.stringify(Object.entries(attributes).sort())}`;
          if (typeof value === "number") all.set(key, { sum: value, count: 1 });
          else if ("sum" in value) all.set(key, { sum: value.sum ?? 0, count: value.count });
        }
      return all;
    },
    async close(): Promise<void> {
      await metering.shutdown();
      await tracing.shutdown();
    },
  };
}

function seen(span: ReadableSpan): Seen {
  return {
    id: span.spanContext().spanId,
    trace: span.spanContext().traceId,
    parent: span.parentSpanContext?.spanId,
    name: span.name,
    start: ms(span.startTime),
    end: ms(span.endTime),
    attributes: span.attributes,
    events: span.events.map(({ name, time, attributes }) => ({ name, at: ms(time), attributes })),
    links: span.links.map(({ context }) => `${context.traceId}/${context.spanId}`),
    failed: span.status.code === SpanStatusCode.ERROR,
    message: span.status.message,
  };
}

function ms([seconds, nanos]: HrTime): number {
  return seconds * 1000 + nanos / 1e6;
}
