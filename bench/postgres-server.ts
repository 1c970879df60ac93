/** The PostgreSQL of a run: one that flushes, as in earnest, on the disk that the run is given. */
import { PostgresServer } from "../packages/postgres/test/server.ts";

const settings = ["shared_buffers=128MB", "max_connections=100"];

export async function start(parent: string): Promise<{ place: string; end(): Promise<void> }> {
  const server = await PostgresServer.start({ parent, settings });
  return { place: server.url("postgres"), end: () => server.end() };
}
