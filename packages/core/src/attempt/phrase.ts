/**
 * Words, read last: only where structure left a question open, only in the text of an error, never in an answer.
 */
import type { FailureKind } from "../log/value.ts";

/** Says that the request does not fit. Only a provider's own answer may say so, never a disconnect. */
const overflow =
  /\bprompt is too long\b|\bcontext (length|window|size|limit)\b.*\bexceed|\bexceed(s|ed)?\b.*\bcontext (length|window|size|limit)\b|\bmaximum (context|prompt) length\b|\binput (is|length).*too (long|large)\b|\binput token count\b.*\bexceeds\b|\breduce the length of the (messages|prompt)\b/i;

/** A request above the whole allowance of a minute is not cured by waiting a minute. */
const aboveAllowance = /\brequest too large\b.*\blimit\b\D*\d+.*\brequested\b\D*\d+/i;

const providerState =
  /\bsignature\b.*\bthinking\b|\bthinking\b.*\bblocks?\b.*\bcannot be modified\b|\bencrypted content\b.*\b(verified|decrypted|invalid)\b|\bItem (with id )?'[^']+' (not found|of type 'reasoning' was provided without)/i;

const quota =
  /\bcredit balance is too low\b|\bexceeded your current quota\b|\binsufficient (balance|credits?|funds|quota)\b|\b(daily|monthly|weekly|usage|spending|cycle) (usage )?(limit|quota|cap)\b.*\b(reached|exceeded|used up|exhausted)\b|\b(reached|exceeded|used up|exhausted)\b.*\b(daily|monthly|weekly|usage|spending|cycle) (usage )?(limit|quota|cap)\b/i;

/** A kind made narrower by the error's own words. */
export function narrowed(kind: FailureKind, text: string): FailureKind {
  switch (kind) {
    case "rejected":
      if (overflow.test(text)) return "overflow";
      if (providerState.test(text)) return "provider-state";
      return quota.test(text) ? "quota" : kind;
    case "rate-limited":
      if (quota.test(text)) return "quota";
      return aboveAllowance.test(text) ? "overflow" : kind;
    case "auth":
      return quota.test(text) ? "quota" : kind;
    default:
      return kind;
  }
}
