// For how many somebody's composition is there.

export function subjectWords(count: number): string {
  if (count === 0) return 'for nobody yet';
  return `for ${count} ${count === 1 ? 'subject' : 'subjects'}`;
}
