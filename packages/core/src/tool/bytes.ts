/** What bytes are: text, a picture, or neither. Pure. */

/** First bytes by media type. Only what models can be shown; all else is bytes. */
const signatures: [string, RegExp][] = [
  ["image/png", /^\u0089PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF....WEBP/s],
  ["application/pdf", /^%PDF-/],
];

export const anyBytes = "application/octet-stream";

export function mediaTypeOf(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  return signatures.find(([, pattern]) => pattern.test(head))?.[0] ?? anyBytes;
}

/** The text that the bytes are; undefined where they are none. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return isBinary(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Judged by the beginning: no text is odd there and well further on, and a large output is not read twice. */
const sampleChars = 4_096;

/**
 * Whether a text is what becomes of bytes that were none. One sign in ten is control or replacement: file names between
 * NULs and coloured terminal output stay far below, compressed or compiled bytes far above.
 */
export function isBinary(text: string): boolean {
  const sample = text.slice(0, sampleChars);
  if (sample.length < 32) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
  const odd = sample.match(/[\u0000-\u0007\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g)?.length ?? 0;
  return odd * 10 > sample.length;
}
