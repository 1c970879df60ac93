/** What requests cost, where the configuration says a price. Pure. No price is guessed: one that is out of date is worse than none. */
import type { ModelRef, Usage } from "@pawl/core";
import type { Pricing } from "./config/schema.ts";

export type Prices = { readonly [model: string]: Pricing };

const million = 1_000_000;

/** Undefined where nobody has said how many tokens it was. */
export function priceOf(
  { measure, input = 0, output = 0, cacheRead = 0, cacheWrite = 0 }: Usage,
  price: Pricing,
): number | undefined {
  if (measure === "unknown") return undefined;
  // What was read from a cache or written to one is part of the input.
  const plain = Math.max(0, input - cacheRead - cacheWrite);
  const cached = cacheRead * (price.cacheRead ?? price.input) + cacheWrite * (price.cacheWrite ?? price.input);
  return (plain * price.input + cached + output * price.output) / million;
}

/** By what `--model` said of it (`openai:gpt-5`), or by the id alone. */
export function pricingFor(prices: Prices, model: string | ModelRef): Pricing | undefined {
  const names = typeof model === "string" ? [model, model.slice(model.indexOf(":") + 1)] : [wordOf(model), model.id];
  const name = names.find((one) => Object.hasOwn(prices, one));
  return name === undefined ? undefined : prices[name];
}

/** As `--model` says it: `openai.responses` is what the AI SDK calls `openai`. */
export function wordOf({ provider, id }: ModelRef): string {
  return `${provider.split(".", 1)[0]}:${id}`;
}

export function moneyWords(amount: number, currency: string): string {
  const digits = amount !== 0 && Math.abs(amount) < 1 ? 4 : 2;
  return `${amount.toFixed(digits)} ${currency}`;
}
