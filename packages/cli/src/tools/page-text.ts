/** A web page as Markdown: what a reader reads, in one pass over its tags, in time and memory proportional to it. Pure. */
import { Parser } from "htmlparser2";

/** Not for reading: code, drawings, controls, and the frame around the page. */
const skipped = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "canvas",
  "select",
  "button",
  "nav",
  "footer",
]);
const blocks = new Set([
  "p",
  "div",
  "section",
  "article",
  "main",
  "header",
  "aside",
  "figure",
  "table",
  "ul",
  "ol",
  "dl",
  "dt",
  "dd",
  "form",
  "details",
  "summary",
  "address",
]);
const mostDepth = 2_000;
const sliceChars = 16_384;
/** Deeper quotes and lists read no better. */
const depthShown = 6;

export interface PageText {
  title: string;
  text: string;
}

export function pageText(html: string, base: string): PageText {
  const writer = new Writer(base);
  let depth = 0;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        depth += 1;
        writer.open(name, attributes);
      },
      ontext: (text) => writer.text(text),
      onclosetag: (name) => {
        depth -= 1;
        writer.close(name);
      },
    },
    { decodeEntities: true },
  );
  for (let at = 0; at < html.length; at += sliceChars) {
    parser.write(html.slice(at, at + sliceChars));
    if (depth <= mostDepth) continue;
    // The parser's time grows with depth times length: no page that somebody wrote is like this.
    const { title, text } = writer.result();
    return { title, text: `${text}\n[the page is nested too deeply: the rest is left out]`.trim() };
  }
  parser.end();
  return writer.result();
}

class Writer {
  readonly #base: string;
  #out: string[] = [];
  #title = "";
  #inTitle = false;
  #skip = 0;
  #pre = 0;
  #quote = 0;
  readonly #lists: { ordered: boolean; items: number }[] = [];
  /** The open link: where it leads, and what it says so far. */
  #link: { href: string; said: string } | undefined;
  /** Line ends at the end of the text; more are never written than asked for. */
  #ends = 2;
  #spaced = true;

  constructor(base: string) {
    this.#base = base;
  }

  result(): PageText {
    this.#closeLink();
    return { title: this.#title.replace(/\s+/g, " ").trim(), text: this.#out.join("").trim() };
  }

  open(name: string, attributes: Record<string, string>): void {
    if (skipped.has(name)) this.#skip += 1;
    if (name === "title") this.#inTitle = this.#title === "" && this.#skip === 0;
    if (this.#skip > 0) return;
    if (/^h[1-6]$/.test(name)) {
      this.#block(2);
      this.#write(`${"#".repeat(Number(name[1]))} `);
    } else if (name === "li") this.#item();
    else if (name === "a") this.#openLink(attributes["href"] ?? "");
    else if (name === "br") this.#block(1);
    else if (name === "hr") {
      this.#block(2);
      this.#write("---");
      this.#block(2);
    } else if (name === "img") this.#image(attributes["alt"] ?? "");
    else if (name === "pre") {
      this.#block(2);
      this.#write("```");
      this.#block(1);
      this.#pre += 1;
    } else if (name === "tr") this.#block(1);
    else if (name === "td" || name === "th") this.#write("| ");
    else this.#mark(name);
    if (name === "blockquote") {
      this.#block(2);
      this.#quote += 1;
    }
    if (name === "ul" || name === "ol") this.#lists.push({ ordered: name === "ol", items: 0 });
    if (blocks.has(name)) this.#block(this.#lists.length > 1 ? 1 : 2);
  }

  close(name: string): void {
    if (name === "title") this.#inTitle = false;
    if (skipped.has(name)) {
      this.#skip = Math.max(0, this.#skip - 1);
      return;
    }
    if (this.#skip > 0) return;
    if (name === "a") this.#closeLink();
    if (name === "pre") {
      this.#pre = Math.max(0, this.#pre - 1);
      this.#block(1);
      this.#write("```");
      this.#block(2);
    } else this.#mark(name);
    if (name === "blockquote") this.#quote = Math.max(0, this.#quote - 1);
    if (name === "ul" || name === "ol") this.#lists.pop();
    if (name === "td" || name === "th") this.#write(" ");
    if (name === "tr") this.#write("|");
    if (name === "li" || name === "tr") this.#block(1);
    if (blocks.has(name) || name === "blockquote" || /^h[1-6]$/.test(name)) this.#block(this.#lists.length > 0 ? 1 : 2);
  }

  text(text: string): void {
    if (this.#inTitle) {
      this.#title += text;
      return;
    }
    if (this.#skip > 0) return;
    if (this.#pre > 0) {
      const lines = text.split("\n");
      for (const [at, line] of lines.entries()) {
        if (at > 0) this.#push("\n");
        if (line !== "") this.#write(line);
      }
      return;
    }
    const plain = text.replace(/\s+/g, " ");
    const next = this.#spaced && this.#link === undefined ? plain.trimStart() : plain;
    if (next !== "") this.#write(next);
  }

  #mark(name: string): void {
    if (this.#pre > 0) return;
    if (name === "strong" || name === "b") this.#write("**");
    if (name === "em" || name === "i") this.#write("*");
    if (name === "code") this.#write("`");
  }

  #item(): void {
    this.#block(1);
    const list = this.#lists.at(-1);
    if (list) list.items += 1;
    this.#write(
      `${"  ".repeat(Math.max(0, Math.min(depthShown, this.#lists.length) - 1))}${list?.ordered ? `${list.items}.` : "-"} `,
    );
  }

  #image(alt: string): void {
    const said = alt.replace(/\s+/g, " ").trim();
    if (said !== "") this.#write(`[image: ${said}]`);
  }

  #openLink(href: string): void {
    this.#closeLink();
    this.#link = { href, said: "" };
  }

  #closeLink(): void {
    const link = this.#link;
    if (link === undefined) return;
    this.#link = undefined;
    const said = link.said.replace(/\s+/g, " ");
    const target = this.#target(link.href);
    const shown = said.trim();
    if (shown === "") return;
    this.#write(
      target === undefined || target === shown
        ? said
        : `${/^\s/.test(said) && !this.#spaced ? " " : ""}[${shown}](${target})${/\s$/.test(said) ? " " : ""}`,
    );
  }

  /** Whole, so that it can be fetched; undefined for what is no place of its own. */
  #target(href: string): string | undefined {
    if (href === "" || href.startsWith("#") || !URL.canParse(href, this.#base)) return undefined;
    const url = new URL(href, this.#base);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  }

  #write(text: string): void {
    if (this.#link) {
      this.#link.said += text;
      return;
    }
    if (this.#ends > 0 && this.#quote > 0) this.#out.push("> ".repeat(Math.min(depthShown, this.#quote)));
    this.#out.push(text);
    this.#ends = 0;
    this.#spaced = /\s$/.test(text);
  }

  #push(end: string): void {
    if (this.#link) this.#link.said += " ";
    else {
      this.#out.push(end);
      this.#ends += 1;
      this.#spaced = true;
    }
  }

  /** The text so far ends with so many line ends, at least. */
  #block(ends: number): void {
    if (this.#link) this.#link.said += " ";
    else while (this.#ends < ends) this.#push("\n");
  }
}
