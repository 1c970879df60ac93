/** The servers that a configuration and a file name, connected. */
import type { ServersConfig } from "./server-config.ts";
import type { ConnectedServers } from "./servers.ts";

export interface NamedServers {
  configured: ServersConfig;
  /** A file that names more of them; where both name one, the file counts. */
  file?: string | undefined;
  cwd: string;
  signal: AbortSignal;
  warn(text: string): void;
}

/** Undefined where none is named: then nothing of it is loaded. Fails with INVALID_INPUT for a file that is none. */
export async function namedServers({ configured, file, ...host }: NamedServers): Promise<ConnectedServers | undefined> {
  const named = { ...configured, ...(await serversOf(file)) };
  if (Object.keys(named).length === 0) return undefined;
  const { connectServers } = await import("./servers.ts");
  return connectServers(named, host);
}

async function serversOf(file: string | undefined): Promise<ServersConfig> {
  if (file === undefined) return {};
  const { readServersFile } = await import("./config-file.ts");
  return readServersFile(file);
}
