/** Whether bytes are text, and if not, what they seem to be. */

/** NUL or invalid UTF-8 shows within this much, in practice; the rest of a file is not looked at. */
export const headBytes = 8_192;

/** `head` is the first {@link headBytes} bytes or the whole; a character cut at its end is no fault. */
export function isBinary(head: Uint8Array): boolean {
  if (head.includes(0)) return true;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: head.length >= headBytes });
    return false;
  } catch {
    return true;
  }
}

const signatures: [string, string][] = [
  ["89504e470d0a1a0a", "PNG image"],
  ["ffd8ff", "JPEG image"],
  ["474946383", "GIF image"],
  ["25504446", "PDF document"],
  ["504b0304", "ZIP archive (also docx, xlsx, jar)"],
  ["1f8b", "gzip data"],
  ["28b52ffd", "zstd data"],
  ["7f454c46", "ELF executable or library"],
  ["cffaedfe", "Mach-O executable or library"],
  ["0061736d", "WebAssembly module"],
  ["53514c69746520666f726d6174203300", "SQLite database"],
  ["fffe", "UTF-16 text (little endian)"],
  ["feff", "UTF-16 text (big endian)"],
];

const pictures: [string, RegExp][] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
];

/** The media type of a picture that models can be shown; undefined for anything else, whatever its name says. */
export function pictureType(head: Uint8Array): string | undefined {
  const start = Buffer.from(head.subarray(0, 16)).toString("latin1");
  return pictures.find(([, pattern]) => pattern.test(start))?.[0];
}

export function binaryKind(head: Uint8Array): string {
  const hex = Buffer.from(head.subarray(0, 16)).toString("hex");
  if (hex.startsWith("52494646") && hex.slice(16, 24) === "57454250") return "WebP image";
  const known = signatures.find(([prefix]) => hex.startsWith(prefix));
  if (known) return known[1];
  return head.includes(0) ? "binary data" : "text that is not UTF-8, or binary data";
}
