/** Posts: accepted once by their id, kept until a batch consumes them. */
import { type MailboxEntry, noSession, type Post } from "@pawl/core/store";
import type { Link } from "./link.ts";
import { stampOf } from "./moment.ts";

/** The row is locked against a delete, not against appends: an accepted post is none of a session that was just deleted. */
const post = `
WITH s AS (SELECT key, workspace FROM pawl.session WHERE id = $1 AND state = 0 FOR KEY SHARE),
p AS (INSERT INTO pawl.post (session, id) SELECT key, $2::text FROM s ON CONFLICT DO NOTHING RETURNING session),
m AS (
  INSERT INTO pawl.mail (session, id, kind, body, posted_at, workspace)
  SELECT p.session, $2::text, $3::text, $4::text, ${stampOf("$5")}, s.workspace FROM p JOIN s ON s.key = p.session
)
SELECT (SELECT count(*) FROM s)::int AS there, (SELECT count(*) FROM p)::int AS accepted`;

/** A session without a post is one row of nothing. */
const mailbox = `
SELECT m.place, m.id, m.kind, m.body, m.posted_at FROM pawl.session s LEFT JOIN pawl.mail m ON m.session = s.key
WHERE s.id = $1 AND s.state = 0 ORDER BY m.place`;

export class Mailbox {
  readonly #link: Link;
  readonly #now: () => number | null;

  constructor(link: Link, now: () => number | null) {
    this.#link = link;
    this.#now = now;
  }

  /** `body` as JSON text: as such every character goes through, also those that PostgreSQL's texts cannot hold. */
  async post(session: string, { id, kind }: Post, body: string): Promise<"accepted" | "duplicate"> {
    const [row] = await this.#link.query(post, [session, id, kind, body, this.#now()]);
    if (row?.["there"] !== 1) throw noSession(session);
    return row["accepted"] === 1 ? "accepted" : "duplicate";
  }

  async read(session: string): Promise<MailboxEntry[]> {
    const rows = await this.#link.query(mailbox, [session]);
    if (rows.length === 0) throw noSession(session);
    return rows.flatMap((row) =>
      row["place"] === null
        ? []
        : {
            id: String(row["id"]),
            kind: String(row["kind"]) as MailboxEntry["kind"],
            body: JSON.parse(String(row["body"])),
            order: Number(row["place"]),
            postedAt: Number(row["posted_at"]),
          },
    );
  }
}
