/** How a step begins, and with which header. */
import type { Driver } from "./driver.ts";
import { openStep } from "./state.ts";

export function startStep(driver: Driver): void {
  const { ledger, agent, effects } = driver;
  const { turn } = ledger.state;
  if (!turn) return;
  ledger.stage({
    type: "step.started",
    step: effects.id("st"),
    turn: turn.id,
    number: turn.steps + 1,
    ...(headerChanged(driver) ? { header: agent.header } : {}),
  });
}

/**
 * Whether the next request would not be the one that the log tells. Within a step only after a take-over by a driver
 * with another agent: the step is then begun anew, since a header is recorded with a step.
 */
export function headerChanged({ ledger, agent }: Driver): boolean {
  const recorded = ledger.state.header;
  // The very object, once we have recorded it ourselves: a large tool list is not written out at every step.
  return recorded !== agent.header && JSON.stringify(recorded) !== JSON.stringify(agent.header);
}

export function restartStep(driver: Driver): void {
  driver.ledger.stage({ type: "step.ended", step: openStep(driver.ledger.state).id });
  startStep(driver);
}
