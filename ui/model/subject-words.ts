// How many subjects a composition is published to, in words.

export function subjectWords(count: number): string {
  if (count === 0) return 'for nobody yet';
  return `for ${count} ${count === 1 ? 'user' : 'users'}`;
}
