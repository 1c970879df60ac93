/**
 * The SQL of the operations that write, prepared once per connection.
 */
import type { DatabaseSync } from "node:sqlite";

/** Records erased per transaction: a few milliseconds. */
const eraseSlice = 2_000;

export type WriteStatements = ReturnType<typeof prepareWrites>;

export function prepareWrites(db: DatabaseSync) {
  const sql = (text: string) => db.prepare(text);
  return {
    sessionById: sql("SELECT 1 FROM session WHERE id = ?"),
    insertSession: sql(
      `INSERT INTO session (id, seq, epoch, created_at, updated_at, head, open_turn, parent, cut, workspace)
       VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateSeq: sql("UPDATE session SET seq = ?, updated_at = ? WHERE key = ?"),
    updateHead: sql("UPDATE session SET seq = ?, updated_at = ?, head = ?, open_turn = ? WHERE key = ?"),
    nameWorkspace: sql("UPDATE session SET workspace = ? WHERE key = ?"),
    updateEpoch: sql("UPDATE session SET epoch = ? WHERE key = ?"),
    insertRecord: sql(
      "INSERT INTO record (at, kind, epoch, time, checksum, payload) VALUES ((?1 << 32) | ?2, ?3, ?4, ?5, ?6, ?7)",
    ),
    insertFresh: sql(
      "INSERT INTO fresh (at, kind, epoch, time, checksum, payload) VALUES ((?1 << 32) | ?2, ?3, ?4, ?5, ?6, ?7)",
    ),
    settleFresh: sql("INSERT INTO record SELECT at, kind, epoch, time, checksum, payload FROM fresh ORDER BY at"),
    clearFresh: sql("DELETE FROM fresh"),
    anyFresh: sql("SELECT 1 FROM fresh LIMIT 1"),
    insertKind: sql("INSERT OR IGNORE INTO kind (type, version, ignorable) VALUES (?, ?, ?)"),
    selectKind: sql("SELECT key FROM kind WHERE type = ? AND version = ? AND ignorable = ?"),

    hideSession: sql("UPDATE session SET deleted = 1, head = '{}', open_turn = 0 WHERE key = ?"),
    parentOf: sql("SELECT parent FROM session WHERE key = ?"),
    reviveErasure: sql("UPDATE session SET deleted = 1 WHERE key = ? AND deleted = 2"),
    hiddenSession: sql("SELECT key FROM session WHERE deleted = 1 LIMIT 1"),
    childrenOf: sql("SELECT key, cut, deleted FROM session WHERE parent = ? ORDER BY cut DESC"),
    markErased: sql("UPDATE session SET deleted = 2 WHERE key = ?"),
    eraseRecords: sql(
      `DELETE FROM record WHERE at IN (SELECT at FROM record
       WHERE at > ((?1 << 32) | ?2) AND at <= ((?3 << 32) | 4294967295) LIMIT ${eraseSlice})`,
    ),
    eraseFresh: sql("DELETE FROM fresh WHERE at > ((?1 << 32) | ?2) AND at <= ((?3 << 32) | 4294967295)"),
    dropBelongings: ["lease", "post", "mail", "name", "partial", "snapshot"].map((table) =>
      sql(`DELETE FROM ${table} WHERE session = ?`),
    ),

    named: sql("SELECT s.id FROM name n JOIN session s ON s.key = n.session WHERE n.name = ?"),
    deleteName: sql("DELETE FROM name WHERE name = ?"),
    upsertName: sql(
      "INSERT INTO name (name, session) VALUES (?, ?) ON CONFLICT DO UPDATE SET session = excluded.session",
    ),

    postById: sql("SELECT 1 FROM post WHERE session = ? AND id = ?"),
    insertPost: sql("INSERT INTO post (session, id, place) VALUES (?, ?, ?)"),
    insertMail: sql("INSERT INTO mail (session, id, kind, body, posted_at, workspace) VALUES (?, ?, ?, ?, ?, ?)"),
    waitingPost: sql("SELECT m.place FROM post p JOIN mail m ON m.place = p.place WHERE p.session = ? AND p.id = ?"),
    deleteMail: sql("DELETE FROM mail WHERE place = ?"),

    leaseOf: sql("SELECT holder, expires_at, ttl_ms FROM lease WHERE session = ?"),
    upsertLease: sql(
      `INSERT INTO lease (session, epoch, holder, expires_at, ttl_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder, expires_at = excluded.expires_at,
       ttl_ms = excluded.ttl_ms`,
    ),
    renewLease: sql("UPDATE lease SET expires_at = ?, ttl_ms = ? WHERE session = ?"),
    deleteLease: sql("DELETE FROM lease WHERE session = ?"),
    lastPartial: sql("SELECT n, epoch, attempt FROM partial WHERE session = ? ORDER BY n DESC LIMIT 1"),
    insertPartial: sql("INSERT INTO partial (session, n, epoch, attempt, chunk) VALUES (?, ?, ?, ?, ?)"),
    deletePartial: sql("DELETE FROM partial WHERE session = ?"),

    upsertSnapshot: sql(
      `INSERT INTO snapshot (session, reducer, version, seq, checksum, bytes) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET version = excluded.version, seq = excluded.seq, checksum = excluded.checksum,
       bytes = excluded.bytes`,
    ),
  };
}

export type RestoreStatements = ReturnType<typeof prepareRestore>;

export function prepareRestore(db: DatabaseSync) {
  const sql = (text: string) => db.prepare(text);
  return {
    sessionById: sql("SELECT 1 FROM session WHERE id = ?"),
    beginRestore: sql(
      // A name that no session can have: ids have no such sign. The greatest key makes it new.
      `INSERT INTO session (id, seq, epoch, created_at, updated_at, head, open_turn, parent, cut, deleted)
       SELECT '~' || (COALESCE(MAX(key), 0) + 1) || '~' || ?1, 0, 0, ?2, ?2, '{}', 0, NULL, 0, 3 FROM session`,
    ),
    draftOf: sql("SELECT seq FROM session WHERE key = ? AND deleted = 3"),
    growDraft: sql("UPDATE session SET seq = ? WHERE key = ?"),
    lastOrigin: sql("SELECT last, id FROM origin WHERE session = ? ORDER BY last DESC LIMIT 1"),
    insertOrigin: sql("INSERT INTO origin (session, last, id) VALUES (?, ?, ?)"),
    deleteOrigin: sql("DELETE FROM origin WHERE session = ? AND last = ?"),
    endRestore: sql(
      `UPDATE session SET id = ?, seq = ?, epoch = ?, created_at = ?, updated_at = ?, head = ?, open_turn = ?, workspace = ?,
       deleted = 0 WHERE key = ?`,
    ),
    // Consumed: no mail has the place 0.
    knowPost: sql("INSERT INTO post (session, id, place) VALUES (?, ?, 0) ON CONFLICT DO NOTHING"),
    dropRestore: sql("UPDATE session SET deleted = 1 WHERE key = ? AND deleted = 3"),

    cutOf: sql("SELECT cut FROM session WHERE key = ?"),
    payloadOf: sql(
      `SELECT kind, payload FROM record WHERE at = ((?1 << 32) | ?2)
       UNION ALL SELECT kind, payload FROM fresh WHERE at = ((?1 << 32) | ?2)`,
    ),
    redact: ["record", "fresh"].map((table) =>
      sql(`UPDATE ${table} SET kind = -ABS(kind), payload = ?3 WHERE at = ((?1 << 32) | ?2)`),
    ),
    dropSnapshots: sql(
      `WITH RECURSIVE reader (key) AS (VALUES (?) UNION SELECT s.key FROM session s JOIN reader r ON s.parent = r.key)
       DELETE FROM snapshot WHERE session IN (SELECT key FROM reader)`,
    ),
  };
}
