/** What a driver works with: one per session, for as long as it holds the lease. */
import type { Effects } from "../effects.ts";
import type { Store } from "../store/store.ts";
import type { RunningCalls } from "../tool/eager.ts";
import type { Host } from "../tool/site.ts";
import type { Feed } from "../view/feed.ts";
import type { TurnAbort } from "./abort.ts";
import type { PreparedAgent } from "./agent.ts";
import type { LiveContext } from "./context.ts";
import type { Inbox } from "./inbox.ts";
import type { DriverLease } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import type { Nudge } from "./nudge.ts";
import type { QueuedInput } from "./queue.ts";
import type { WorkspaceSnapshots } from "./workspace-snapshot.ts";

export interface Driver {
  session: string;
  /** The machine that we are on. */
  machine: Host;
  store: Store;
  effects: Effects;
  agent: PreparedAgent;
  lease: DriverLease;
  ledger: Ledger;
  context: LiveContext;
  inbox: Inbox;
  feed: Feed;
  abort: TurnAbort;
  /** Posts that a stop has handed back, by policy. */
  returned: QueuedInput[];
  /** The same, as long as the batch that says so is not known to be durable. */
  handingBack: QueuedInput[];
  /** Inputs that people have taken back, or got back. */
  withdrawn: Set<string>;
  /** Ends a wait between attempts early. */
  nudge: Nudge;
  /** Aborted: the drive ends before its next step, and leaves the turn open for whoever drives next. */
  handover: AbortSignal | undefined;
  /** How many turns the drive may still open. */
  turnsLeft: number;
  /** Calls of the committed message that began before it and have not ended. */
  running: RunningCalls;
  snapshots: WorkspaceSnapshots;
}
