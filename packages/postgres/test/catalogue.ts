/** What PostgreSQL's catalogue says of a schema, as text that can be compared. Run by itself it prints that of a new one. */
import postgres from "postgres";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const lines = (schema: string) => `
SELECT 'column ' || c.relname || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
  || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END || CASE WHEN a.attidentity <> '' THEN ' identity ' || a.attidentity::text ELSE '' END
  || COALESCE(' collate ' || o.collname, '') || COALESCE(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_collation o ON o.oid = a.attcollation AND o.collname <> 'default'
WHERE n.nspname = '${schema}' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'table ' || c.relname || ' ' || c.relkind::text || ' ' || c.relpersistence::text FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '${schema}' AND c.relkind NOT IN ('i', 'S')
UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = '${schema}'
UNION ALL SELECT 'constraint ' || k.relname || ' ' || r.conname || ' ' || pg_get_constraintdef(r.oid) FROM pg_constraint r
  JOIN pg_class k ON k.oid = r.conrelid JOIN pg_namespace n ON n.oid = r.connamespace
  WHERE n.nspname = '${schema}' AND r.contype <> 'n'`;

export async function catalogue(sql: postgres.Sql, schema: string): Promise<string> {
  const rows = await sql.unsafe(lines(schema));
  const words = rows.map((row) => String(row["line"]).replaceAll(`${schema}.`, "pawl."));
  return `${words.sort().join("\n")}\n`;
}

if (import.meta.main) {
  const server = await PostgresServer.start();
  const url = server.url("postgres");
  await (await postgresStore({ url })).close();
  const sql = postgres(url, { max: 1 });
  process.stdout.write(await catalogue(sql, "pawl"));
  await sql.end();
  await server.end();
}
