// One small slip that a programmer could make in a source file, and the tests that must notice it. A mutant is stored as
// text, so it ages with the line that it changes: when its text is no longer present, that is an error, never a passed test.

export interface Mutant {
  /** From the root, for example `src/names/names.ts`. */
  readonly file: string;
  /** What the slip breaks, in a few words. */
  readonly slip: string;
  /** Part of one line, present exactly once in the file; or its first occurrence after `after`, which is present exactly once. */
  readonly text: string;
  readonly after?: string;
  readonly becomes: string;
  /** Test files, for example `names/names` for `test/names/names.test.ts`. It is enough if one fails. */
  readonly noticedBy: readonly string[];
}

type Slip = Omit<Mutant, 'file' | 'noticedBy'> & Partial<Pick<Mutant, 'noticedBy'>>;

/** @param noticedBy the tests for each slip that names none of its own. */
export function mutantsOf(file: string, noticedBy: readonly string[], slips: readonly Slip[]): readonly Mutant[] {
  return slips.map((slip) => ({ file, noticedBy, ...slip }));
}

/** For example `src/names/names.ts: a slip`. */
export function nameOf({ file, slip }: Mutant): string {
  return `${file}: ${slip}`;
}

/** @throws when the mutant does not fit the source: the error names the mutant, and the text that was not found. */
export function mutate(source: string, mutant: Mutant): string {
  const { text, becomes, after } = mutant;
  if (text === becomes || text.includes('\n')) throw new Error(`${nameOf(mutant)}\n  it is not a change of one line`);
  const from = after === undefined ? 0 : indexOfOnly(source, after, mutant) + after.length;
  const at = after === undefined ? indexOfOnly(source, text, mutant) : source.indexOf(text, from);
  if (at === -1) throw misfit(mutant, text, 'is no longer there');
  return source.slice(0, at) + becomes + source.slice(at + text.length);
}

function indexOfOnly(source: string, part: string, mutant: Mutant): number {
  const count = source.split(part).length - 1;
  if (count !== 1) throw misfit(mutant, part, count === 0 ? 'is no longer there' : `is there ${count} times`);
  return source.indexOf(part);
}

function misfit(mutant: Mutant, part: string, found: string): Error {
  return new Error(`${nameOf(mutant)}\n  its text ${found}: ${part}`);
}
