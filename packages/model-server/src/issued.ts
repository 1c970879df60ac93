import { createHash } from "node:crypto";

/**
 * Owns what this server has handed out and clients must hand back unchanged: signatures of thinking, encrypted
 * reasoning, response items and responses. What it derives itself it can check without having seen it issued, so a
 * history written against one server is judged alike by the next; explicit signatures of a script are remembered.
 */

/** An item of a responses conversation, as JSON. */
export type Item = Readonly<Record<string, unknown>>;

/** `modified`: the proof is ours, what it proves is not. `unknown`: never ours. */
export type Provenance = "genuine" | "modified" | "unknown";

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

/** The signature of a thinking text when the script gives none. */
export function signatureOf(text: string): string {
  return `Eq${digest(`thinking\n${text}`)}`;
}

const SEALED_PREFIX = "gAAAAAB";

/** Opaque content that carries its own text and a check sum. `id` binds it to a responses item ("" to none). */
export function sealedOf(id: string, text: string): string {
  const payload = Buffer.from(JSON.stringify([id, text])).toString("base64url");
  return `${SEALED_PREFIX}${payload}.${digest(`sealed\n${payload}`).slice(0, 22)}`;
}

function unseal(content: string): { id: string; text: string } | undefined {
  const [payload, mac] = content.slice(SEALED_PREFIX.length).split(".");
  if (!content.startsWith(SEALED_PREFIX) || payload === undefined) return undefined;
  if (mac !== digest(`sealed\n${payload}`).slice(0, 22)) return undefined;
  const parsed: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
  if (!Array.isArray(parsed)) return undefined;
  const [id, text] = parsed;
  return typeof id === "string" && typeof text === "string" ? { id, text } : undefined;
}

export class Issued {
  readonly #signatures = new Map<string, string>();
  readonly #sealed = new Map<string, { id: string; text: string }>();
  readonly #items = new Map<string, Item>();
  readonly #responses = new Map<string, readonly Item[]>();

  /** Signs a thinking text, with the script's own signature if it has one. */
  sign(text: string, explicit?: string): string {
    const signature = explicit ?? signatureOf(text);
    this.#signatures.set(signature, text);
    return signature;
  }

  /** Seals a text into opaque content bound to an item id, with the script's own content if it has one. */
  seal(id: string, text: string, explicit?: string): string {
    const content = explicit ?? sealedOf(id, text);
    this.#sealed.set(content, { id, text });
    return content;
  }

  provenanceOfThinking(text: string, signature: string): Provenance {
    const known = this.#signatures.get(signature);
    if (signature === signatureOf(text) || known === text) return "genuine";
    return known === undefined ? "unknown" : "modified";
  }

  /** `text` undefined when the client sent only the opaque content, which is allowed. */
  provenanceOfSealed(content: string, id: string | undefined, text: string | undefined): Provenance {
    const known = this.#sealed.get(content) ?? unseal(content);
    if (known === undefined) return "unknown";
    const sameItem = id === undefined || known.id === "" || known.id === id;
    return sameItem && (text === undefined || text === known.text) ? "genuine" : "modified";
  }

  /** Keeps a finished response as the real endpoint does with `store: true`. */
  store(responseId: string, input: readonly Item[], output: readonly Item[]): void {
    this.#responses.set(responseId, [...input, ...output]);
    for (const item of output) if (typeof item["id"] === "string") this.#items.set(item["id"], item);
  }

  item(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /** The whole conversation that ends with this response. */
  conversation(responseId: string): readonly Item[] | undefined {
    return this.#responses.get(responseId);
  }
}
