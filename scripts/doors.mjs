// Builds see through the doors of packages (`src/<package>/index.ts`): an import through one becomes an import of the files behind it.
// So a process or a test loads what it uses and not all of every package that it uses a word of, and each program's bundle is as small
// as without doors.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const THROUGH_DOOR = /^import (type )?\{([^}]*)\} from (['"])(\.{1,2}\/[^'"]*\bindex)\.js\3;/gm;
const PASSED_ON = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm;

/**
 * @param text of a module, as its source or as compiled.
 * @param source the path of its source.
 * @returns the text with as many lines as before, for source maps.
 */
export function seenThroughDoors(text, source) {
  return text.replace(THROUGH_DOOR, (statement, type = '', names, _quote, specifier) => {
    const door = join(dirname(source), `${specifier}.ts`);
    if (basename(dirname(dirname(door))) !== 'src' || !existsSync(door)) return statement;
    const places = placesBehind(door);
    const byPlace = new Map();
    for (const name of split(names)) {
      const place = places.get(bare(name));
      if (place === undefined) throw new Error(`${source} imports ${bare(name)}, which ${door} does not pass on`);
      const from = `${dirname(specifier)}/${place}`;
      byPlace.set(from, [...(byPlace.get(from) ?? []), name]);
    }
    const imports = [...byPlace].map(([from, all]) => `import ${type}{ ${all.join(', ')} } from '${from}';`);
    return imports.join(' ') + '\n'.repeat(statement.split('\n').length - 1);
  });
}

/** By name, for example `share.js`. */
function placesBehind(door) {
  const statements = readFileSync(door, 'utf8').matchAll(PASSED_ON);
  return new Map([...statements].flatMap(([, names, from]) => split(names).map((name) => [bare(name), from.slice(2)])));
}

function split(names) {
  return names.split(',').flatMap((name) => name.trim() || []);
}

function bare(name) {
  return name.replace(/^type /, '').split(' as ')[0];
}
