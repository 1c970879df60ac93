/**
 * Moments, by the database's clock or by one that a test brings.
 *
 * `clock_timestamp()`, not `now()`: what waits for a row lock is judged when it gets it.
 */
const databaseMs = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::float8";

/** UTC ms in SQL. `parameter` is null where the database's clock counts. */
export function momentOf(parameter: string): string {
  return `COALESCE(${parameter}::float8, ${databaseMs})`;
}

/** The same as whole ms, for a column. */
export function stampOf(parameter: string): string {
  return `floor(${momentOf(parameter)})::bigint`;
}
