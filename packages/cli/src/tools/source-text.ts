/** A text file as an editor sees it: `\n` between lines, and the way back to the line ends that it really has. */
export class SourceText {
  readonly text: string;
  readonly #original: string;
  readonly #bom: number;
  /** Where in {@link text} the newlines are that have lost their `\r`, ascending. */
  readonly #crlf: number[] = [];
  readonly #lineEnd: "\n" | "\r\n";

  constructor(original: string) {
    this.#original = original;
    this.#bom = original.startsWith("\ufeff") ? 1 : 0;
    const body = original.slice(this.#bom);
    for (let at = body.indexOf("\r\n"); at !== -1; at = body.indexOf("\r\n", at + 2))
      this.#crlf.push(at - this.#crlf.length);
    this.text = body.replaceAll("\r\n", "\n");
    const newlines = this.text.split("\n").length - 1;
    this.#lineEnd = this.#crlf.length * 2 > newlines ? "\r\n" : "\n";
  }

  /**
   * The original with `changes` (sorted, apart from each other) made. New lines end as most of the file's do, and a final newline
   * stays also when the last line was replaced.
   */
  replaced(changes: { start: number; end: number; text: string }[]): string {
    let out = this.#original.slice(0, this.#bom);
    let from = 0;
    for (const { start, end, text } of changes) {
      out += this.#slice(from, start) + text.replaceAll("\n", this.#lineEnd);
      from = end;
    }
    out += this.#slice(from, this.text.length);
    const lostNewline = this.text.endsWith("\n") && out.length > this.#bom && !out.endsWith("\n");
    return lostNewline ? out + this.#lineEnd : out;
  }

  #slice(start: number, end: number): string {
    return this.#original.slice(this.#originalIndex(start), this.#originalIndex(end));
  }

  #originalIndex(index: number): number {
    let low = 0;
    let high = this.#crlf.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#crlf[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return this.#bom + index + low;
  }
}
