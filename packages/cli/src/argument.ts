/** What figures on the command line look like, and what is said of those that are none. */
import { InvalidArgumentError } from "commander";

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("a whole number of 0 or more is needed.");
}

export function tokens(text: string): number {
  const [, figure = text, thousands] = /^(.*\d)(k)$/i.exec(text) ?? [];
  const number = wholeNumber(figure.replace(/(?<=\d)[_,](?=\d)/g, "")) * (thousands ? 1000 : 1);
  if (number > 0) return number;
  throw new InvalidArgumentError("a number of tokens is needed, for example 128000.");
}

/** An option that may be given several times. */
export function several(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

export function share(text: string): number {
  const number = Number(text);
  if (/^[\d.]+$/.test(text) && number >= 0 && number < 1) return number;
  throw new InvalidArgumentError("a share from 0 to below 1 is needed, for example 0.3.");
}
