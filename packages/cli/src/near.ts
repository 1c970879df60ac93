/** Words that somebody has written nearly right. Pure. */

/** What `text` was perhaps meant to be, the nearest first. */
export function near(text: string, known: readonly string[]): string[] {
  // Fingers slip once in a short word, now and then in a long one.
  const most = Math.min(3, Math.max(1, Math.floor(text.length / 5)));
  const found = known.flatMap((one) => {
    const far = text.length >= 3 && one.startsWith(text) ? 0 : distance(text.toLowerCase(), one.toLowerCase(), most);
    return far <= most ? [{ one, far }] : [];
  });
  return found.sort((a, b) => a.far - b.far).map(({ one }) => one);
}

/** Letters to change, add, leave out or swap; more than `most` counts as one more than that. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same];
      row.push(Math.min(...steps, ...(swapped ? [(before[j - 2] ?? 0) + 1] : [])));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
