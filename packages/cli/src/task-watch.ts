/** Between the tool that runs tasks and whatever shows them: what happens in their sessions, live. */
import type { LiveItem } from "@pawl/core";
import type { Child } from "./child-lines.ts";

export class TaskWatch {
  /** Who shows it; set once there is a screen. */
  show: ((item: LiveItem, child: Child) => void) | undefined;

  hear(item: LiveItem, child: Child): void {
    this.show?.(item, child);
  }
}
