/** A number with its noun: `1 tool`, `2 tools`. @param noun in the plural, which ends with `s`; more words may follow it. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString()} ${count === 1 ? noun.replace(/s( |$)/, '$1') : noun}`;
}
