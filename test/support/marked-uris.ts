// Resource URIs in random JSON text, with a mark wherever the caller's form has the backend's name and the backend's form does
// not: one marked text yields both what a backend says and, byte for byte, what its caller must get.
import type { Random } from './random.js';

/** Backends' names, and their spelling in URIs. */
export const URI_NAMES: Readonly<Record<string, string>> = {
  b: 'b',
  'A-1': 'A-1',
  a_b: 'a.5fb',
  '1a': 'x.-1a',
  é: 'x.-.c3.a9',
};

const UI = 'ui://';
/** Raw control characters, which JSON text cannot contain. */
const UI_MARK = '\u0001';
const MARK = '\u0002';
const URIS = [
  'a:1',
  'ui://x/y',
  'ui://',
  'ui:x',
  'UI://x',
  'https://x/a+b',
  '',
  '+',
  'b+a:1',
  'ui://b/x',
  'é:🚂',
  'a"b\\',
];

export function randomUri(random: Random): string {
  return random.pick(URIS);
}

/** The URI as a string token, with some of its characters escaped. */
export function markedToken(random: Random, uri: string): string {
  if (!uri.startsWith(UI)) return `"${MARK}${spelled(random, uri)}"`;
  return `"${spelled(random, UI)}${UI_MARK}${spelled(random, uri.slice(UI.length))}"`;
}

/** The backend's form: the text without the marks. */
export function backendsText(text: string): string {
  return text.replaceAll(UI_MARK, '').replaceAll(MARK, '');
}

/** The caller's form: the marks replaced by the backend's name. */
export function callersText(text: string, uriName: string): string {
  return text.replaceAll(UI_MARK, `${uriName}/`).replaceAll(MARK, `${uriName}+`);
}

/** The number of marked URIs. */
export function markCount(text: string): number {
  return text.split(UI_MARK).length + text.split(MARK).length - 2;
}

/** The URI in the caller's form. */
export function callersUriOf(uriName: string, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${uriName}/${uri.slice(UI.length)}` : `${uriName}+${uri}`;
}

function spelled(random: Random, text: string): string {
  // In most tokens no character is escaped unnecessarily.
  const chance = random.chance(0.3) ? 0.3 : 0;
  return Array.from(text, (character) => {
    if (character === '/' && random.chance(chance)) return '\\/';
    if (!random.chance(chance)) return JSON.stringify(character).slice(1, -1);
    const codes = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16));
    return codes.map((code) => `\\u${code.padStart(4, '0')}`).join('');
  }).join('');
}
