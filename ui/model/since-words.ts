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

/** The day of a time, as a heading. */
export function dayWords(time: string, now = new Date()): string {
  const day = new Date(time);
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (day.toDateString() === now.toDateString()) return 'Today';
  if (day.toDateString() === yesterday.toDateString()) return 'Yesterday';
  return day.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
}
