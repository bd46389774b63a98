// How long ago something was, in as few words as possible.

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

export function sinceWords(agoMs: number): string {
  const agoS = Math.max(0, Math.round(agoMs / 1_000));
  const [unit, unitS] = STEPS.find(([, seconds]) => agoS >= seconds) ?? [];
  if (unit === undefined || unitS === undefined) return agoS < 10 ? 'just now' : `${agoS} seconds ago`;
  const count = Math.floor(agoS / unitS);
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
}

/** The day of a time, as a heading. What is ahead of this clock is of today. */
export function dayWords(time: string, now = new Date()): string {
  const day = new Date(time);
  const startOf = (daysAgo: number): Date => new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo);
  if (day >= startOf(0)) return 'Today';
  if (day >= startOf(1)) return 'Yesterday';
  return day.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
}
