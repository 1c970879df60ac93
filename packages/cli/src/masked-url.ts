/** Passwords in URLs are for the server alone. Knows nothing else: every command loads it. */

/** A text without the passwords of the URLs in it. What looks half like one loses more than it has to. */
export function maskedUrls(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:@/?#'"]*):[^\s'"]*@/gi, "$1:***@")
    .replace(/([?&](?:password|pass|sslpassword|sslkey)=)[^&\s'"#]*/gi, "$1***");
}
