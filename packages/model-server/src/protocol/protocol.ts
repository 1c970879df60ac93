/** The three wire protocols this server speaks, named as their endpoints are. */
export type Protocol = "chat" | "responses" | "anthropic";

export const PROTOCOLS: readonly Protocol[] = ["chat", "responses", "anthropic"];

const PATHS: Readonly<Record<Protocol, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  anthropic: "/v1/messages",
};

export function pathOf(protocol: Protocol): string {
  return PATHS[protocol];
}

export function protocolOf(path: string): Protocol | undefined {
  return PROTOCOLS.find((protocol) => PATHS[protocol] === path);
}
