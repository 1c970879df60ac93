/**
 * Tells a tracer and a meter what the fold has said.
 *
 * Owns: the calls into OpenTelemetry. Invariants:
 * 1. Nothing that a tracer, meter or processor throws comes out: telemetry that fails must not fail a turn. It is said once.
 * 2. Moments go out as second and nanosecond: a number that lies before the process began is taken for one since it began.
 */
import {
  type Context,
  type Counter,
  context,
  type Histogram,
  type HrTime,
  type Link,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { type Measurement, type MetricName, metrics } from "./convention.ts";
import type { Said } from "./fold.ts";
import type { SpanShape, TurnTrace } from "./span.ts";
import type { SpanIds } from "./span-ids.ts";

export interface SinkOptions {
  /** Absent: no traces. */
  tracer?: Tracer;
  /** Absent: no metrics. */
  meter?: Meter;
  /** Where turns hang in a larger trace; default: what is active when this is called. */
  parent?: Context;
  /** The generator that the tracer's provider was made with. Turns are then traces of their own, whatever is active. */
  ids?: SpanIds;
  /** Hears of the first fault of a tracer, a meter or a log that cannot be read; default: `console.warn`. */
  warn?: (text: string, cause: unknown) => void;
}

export class Sink {
  readonly #options: SinkOptions;
  readonly #parent: Context;
  readonly #instruments = new Map<MetricName, Counter | Histogram>();
  /** The last turn told, for the one that continues it. */
  #last: { turn: string; context: SpanContext } | undefined;
  #warned = false;

  constructor(options: SinkOptions) {
    this.#options = options;
    this.#parent = options.ids ? ROOT_CONTEXT : (options.parent ?? context.active());
  }

  tell(said: readonly Said[]): void {
    for (const one of said) {
      if (one.type === "trace") this.trace(one.trace);
      else this.measure(one.measurement);
    }
  }

  trace(shape: TurnTrace): void {
    const { tracer } = this.#options;
    if (!tracer) return;
    this.guard("tracer", () => {
      const root = this.#start(tracer, shape, shape.root, this.#parent, this.#links(shape));
      const within = trace.setSpan(this.#parent, root);
      for (const child of shape.children)
        this.guard("tracer", () => finish(this.#start(tracer, shape, child, within, []), child));
      this.#last = { turn: shape.turn, context: root.spanContext() };
      finish(root, shape.root);
    });
  }

  measure({ metric, value, attributes }: Measurement): void {
    const { meter } = this.#options;
    if (!meter) return;
    this.guard("meter", () => {
      const instrument = this.#instruments.get(metric) ?? instrumentOf(meter, metric);
      this.#instruments.set(metric, instrument);
      if ("add" in instrument) instrument.add(value, attributes);
      else instrument.record(value, attributes);
    });
  }

  /** Runs what is not ours. */
  guard(what: string, run: () => void): void {
    try {
      run();
    } catch (cause) {
      this.warn(`telemetry: the ${what} failed; the session goes on, its telemetry has holes`, cause);
    }
  }

  warn(text: string, cause: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    const { warn = (said: string, why: unknown) => console.warn(said, why) } = this.#options;
    try {
      warn(text, cause);
    } catch {
      // Whoever cannot be warned has nobody to tell.
    }
  }

  #start(tracer: Tracer, shape: TurnTrace, span: SpanShape, within: Context, links: Link[]): Span {
    const start = () =>
      tracer.startSpan(
        span.name,
        {
          kind: span.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
          startTime: hrTime(span.start),
          attributes: span.attributes,
          links,
        },
        within,
      );
    return this.#options.ids ? this.#options.ids.during(shape, span, start) : start();
  }

  #links({ session, continues }: TurnTrace): Link[] {
    if (continues === undefined) return [];
    const known = this.#last?.turn === continues ? this.#last.context : undefined;
    const to = this.#options.ids?.contextOf(session, continues) ?? known;
    return to ? [{ context: to, attributes: { "pawl.link": "continues" } }] : [];
  }
}

function finish(span: Span, { moments, error, end }: SpanShape): void {
  for (const { name, at, attributes } of moments) span.addEvent(name, attributes, hrTime(at));
  if (error) {
    span.setAttribute("error.type", error.type);
    span.setStatus({
      code: SpanStatusCode.ERROR,
      ...(error.message === undefined ? {} : { message: error.message }),
    });
  }
  span.end(hrTime(end));
}

function instrumentOf(meter: Meter, metric: MetricName): Counter | Histogram {
  const { instrument, unit, description, ...rest } = metrics[metric];
  if (instrument === "counter") return meter.createCounter(metric, { unit, description });
  const advice = "buckets" in rest ? { advice: { explicitBucketBoundaries: rest.buckets } } : {};
  return meter.createHistogram(metric, { unit, description, ...advice });
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
