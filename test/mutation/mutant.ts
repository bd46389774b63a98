// One small slip that somebody could make in a source file, and the tests that must notice it. A mutant is kept as text,
// so it grows old with the line that it changes: one whose text is no longer there is an error, never a test that passed.

export interface Mutant {
  /** From the root, as in `src/names/names.ts`. */
  readonly file: string;
  /** What goes wrong with it, in a few words. */
  readonly slip: string;
  /** Part of one line, there exactly once in the file. */
  readonly text: string;
  readonly becomes: string;
  /** Test files, as in `names/names` for `test/names/names.test.ts`. One that fails is enough. */
  readonly noticedBy: readonly string[];
}

type Slip = Pick<Mutant, 'slip' | 'text' | 'becomes'> & Partial<Pick<Mutant, 'noticedBy'>>;

/** @param noticedBy holds for each slip that names no tests of its own. */
export function mutantsOf(file: string, noticedBy: readonly string[], slips: readonly Slip[]): readonly Mutant[] {
  return slips.map((slip) => ({ file, noticedBy, ...slip }));
}

/** As in `src/names/names.ts: a slip`. */
export function nameOf({ file, slip }: Mutant): string {
  return `${file}: ${slip}`;
}

/** @throws when the mutant does not fit the source: it names the mutant, and what to look for. */
export function mutate(source: string, mutant: Mutant): string {
  const { text, becomes } = mutant;
  const count = source.split(text).length - 1;
  if (count !== 1) {
    const found = count === 0 ? 'is no longer there' : `is there ${count} times`;
    throw new Error(`${nameOf(mutant)}\n  its text ${found}: ${text}`);
  }
  if (text === becomes || text.includes('\n')) throw new Error(`${nameOf(mutant)}\n  it is not a change of one line`);
  return source.replace(text, () => becomes);
}
