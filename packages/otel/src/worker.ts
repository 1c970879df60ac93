/** Metrics of a worker, and telemetry of every turn that it drives: a listener for its `on`. */
import type { Attributes, UpDownCounter } from "@opentelemetry/api";
import type { Session, WorkerEvent } from "@pawl/core";
import type { MetricName } from "./convention.ts";
import { observe } from "./observe.ts";
import type { TelemetryOptions } from "./record.ts";
import { Sink } from "./sink.ts";

export interface ObserveWorkerOptions extends TelemetryOptions {
  /** Opens a session, to tell a turn whole that another process began; absent: what came before this drive is not told. */
  open?(session: string): Promise<Pick<Session, "entries">>;
}

/** Give what this returns to `createWorker({ on })`. It never throws: telemetry that fails must not fail a turn. */
export function observeWorker(options: ObserveWorkerOptions): (event: WorkerEvent) => void {
  const sink = new Sink(options);
  const count = (metric: MetricName, attributes: Attributes = {}) => sink.measure({ metric, value: 1, attributes });
  const driving = gauge(options, sink);
  return (event) => {
    switch (event.type) {
      case "claimed":
        driving(1);
        count("pawl.worker.claims", { "pawl.worker.takeover": event.takesOver !== undefined });
        void observe(event.live, { ...options, session: sessionOf(event.session, options) });
        return;
      case "ended":
        return count("pawl.worker.turns", { "pawl.turn.outcome": event.outcome.type });
      case "released":
      case "handed-over":
      case "parked":
      case "lost":
        driving(-1);
        return count("pawl.worker.releases", { "pawl.worker.release": event.type });
      case "store-away":
        return count("pawl.worker.store_outages");
      case "store-back":
        return;
    }
  };
}

function sessionOf(id: string, { open }: ObserveWorkerOptions): Pick<Session, "id" | "entries"> {
  return { id, entries: async () => (open ? (await open(id)).entries() : []) };
}

/** How many sessions are driven now: the one figure here that also falls. */
function gauge({ meter }: ObserveWorkerOptions, sink: Sink): (by: 1 | -1) => void {
  let counter: UpDownCounter | undefined;
  return (by) =>
    sink.guard("meter", () => {
      counter ??= meter?.createUpDownCounter("pawl.worker.driving", {
        unit: "{session}",
        description: "Sessions that this worker drives now.",
      });
      counter?.add(by);
    });
}
