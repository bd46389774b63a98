// The doors of packages (`src/<package>/index.ts`): who imports a name through one depends on the file that has it, and on no other.

/** Both in sources and as compiled. */
const PASSED_ON = /^export (?:type )?\{([^}]*)\} from ['"]([^'"]+)['"];/gm;

/**
 * @param names what stands between the braces of an import, for example `type Share, perSubject as part`.
 * @param door the text of the door.
 * @returns where the door has them from, as it says it: `./share.js`.
 */
export function behindDoor(names: string, door: string): readonly string[] {
  const wanted = new Set(namesIn(names));
  return [...door.matchAll(PASSED_ON)]
    .filter(([, passedOn = '']) => namesIn(passedOn).some((name) => wanted.has(name)))
    .map(([, , specifier = '']) => specifier);
}

/** Without `type`, and as they are called where they come from. */
export function namesIn(braces: string): readonly string[] {
  return braces
    .split(',')
    .map(
      (each) =>
        each
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0] ?? '',
    )
    .filter((name) => name !== '');
}

/** @param path of a file, for example `src/fair/index.ts` or `build/src/fair/index.js`. */
export function isDoor(path: string): boolean {
  return /(?:^|\/)src\/[^/]+\/index\.[jt]s$/.test(path);
}
