/**
 * What a list shows of a session, between the threads: a row travels as SQLite gave it, and becomes an object where it is
 * read. Cloning fifty flat rows costs a third of cloning fifty objects.
 */
import { headOf, holderOf } from "./json-column.ts";
import type { LeaseInfo, SessionSummary } from "./store.ts";

/** Of a statement that returns arrays; in the order of {@link SummaryRow}. */
export const summaryColumns = `s.id, s.seq, s.epoch, s.created_at, s.updated_at, s.head, p.id, s.cut,
  l.epoch, l.holder, l.expires_at,
  (SELECT json_group_array(name ORDER BY name) FROM name n WHERE n.session = s.key),
  s.workspace, (SELECT posted_at FROM mail m WHERE m.session = s.key ORDER BY place LIMIT 1)
  FROM session s LEFT JOIN session p ON p.key = s.parent LEFT JOIN lease l ON l.session = s.key`;

export type SummaryRow = [
  session: string,
  seq: number,
  epoch: number,
  createdAt: number,
  updatedAt: number,
  head: string,
  parent: string | null,
  cut: number,
  leaseEpoch: number | null,
  holder: string | null,
  expiresAt: number | null,
  names: string,
  workspace: string,
  waitingSince: number | null,
];

export function summaryOf(row: SummaryRow): SessionSummary {
  const [session, seq, epoch, createdAt, updatedAt, head, parent, cut, ...rest] = row;
  const [leaseEpoch, holder, expiresAt, names, workspace, waitingSince] = rest;
  const summary: SessionSummary = { session, seq, epoch, createdAt, updatedAt, head: headOf(head, workspace) };
  if (names !== "[]") summary.names = JSON.parse(names) as string[];
  if (parent !== null) summary.parent = { session: parent, seq: cut };
  if (waitingSince !== null) summary.waitingSince = waitingSince;
  const lease = leaseOf(leaseEpoch, holder, expiresAt);
  if (lease) summary.lease = lease;
  return summary;
}

export function leaseOf(epoch: unknown, holder: unknown, expiresAt: unknown): LeaseInfo | undefined {
  if (typeof holder !== "string") return undefined;
  return { epoch: Number(epoch), holder: holderOf(holder), expiresAt: Number(expiresAt) };
}
