// Random JSON texts that no serializer would write: odd white space, needless escapes, duplicate keys, every form of number.
import type { Random } from './random.js';

const NUMBERS = ['0', '-0', '7', '-12', '1.0', '0.5', '-3.25e+7', '1E9', '2e-3', '0e0', '9007199254740993', '1e400'];
const SPACES = ['', '', '', '', ' ', '\n', '\t', '\r\n', '  \n\t'];
const CHARACTERS = ['a', 'Z', '0', ' ', '/', '{', ']', ',', ':', '\u007f', 'é', '\u2028', '漢', '😀', '\ufeff'];
const ESCAPES = [
  '\\"',
  '\\\\',
  '\\/',
  '\\b',
  '\\f',
  '\\n',
  '\\r',
  '\\t',
  '\\u0061',
  '\\u0000',
  '\\ud83d\\ude00',
  '\\uD800',
];
const KEYS = ['a', 'A', 'b', 'name', 'Name', 'tools', 'x'];

export function randomJson(random: Random, depth: number): string {
  return space(random) + value(random, depth) + space(random);
}

/** A string token of up to `charactersMax` characters; long ones are mostly plain. */
export function randomStringToken(random: Random, charactersMax = 12): string {
  let text = '';
  for (let count = random.below(charactersMax + 1); count > 0; count--) {
    text += random.chance(0.15) ? random.pick(ESCAPES) : random.pick(CHARACTERS);
  }
  return `"${text}"`;
}

/** The text as a string token, some of its (ASCII) characters escaped. */
export function escapedToken(random: Random, text: string): string {
  let token = '';
  for (const character of text) {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    token += random.chance(0.3) ? `\\u${random.chance(0.5) ? code : code.toUpperCase()}` : character;
  }
  return `"${token}"`;
}

function value(random: Random, depth: number): string {
  const choice = random.below(depth > 0 ? 10 : 5);
  if (choice === 0) return random.pick(['true', 'false', 'null']);
  if (choice <= 2) return random.pick(NUMBERS);
  if (choice <= 4) return randomStringToken(random, random.chance(0.1) ? 100 : 12);
  const items: string[] = [];
  for (let count = random.below(5); count > 0; count--) {
    const item = randomJson(random, depth - 1);
    items.push(choice <= 6 ? item : space(random) + key(random) + space(random) + ':' + item);
  }
  const inside = items.length === 0 ? space(random) : items.join(',');
  return choice <= 6 ? `[${inside}]` : `{${inside}}`;
}

function key(random: Random): string {
  return random.chance(0.3) ? randomStringToken(random) : escapedToken(random, random.pick(KEYS));
}

function space(random: Random): string {
  return random.pick(SPACES);
}
