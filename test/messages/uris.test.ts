// URIs of resources as callers see them, and back: no two coincide, and none is lost.
import t from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { bareUriBody } from '../../src/messages/rewriting.js';
import { callersUri, routeUri, uriInsertion, uriPrefix } from '../../src/messages/uris.js';
import { uriName } from '../../src/user-config/routing.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { virtualHostOf } from '../relay/virtual-host.js';

/** The text as a JSON string, some of it written as escapes. */
function inEscapes(random: Random, text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const all = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`);
  const isPlain = (unit: number): boolean => unit < 0x80 && unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
  const written = units.map((unit, at) => (isPlain(unit) && random.chance(0.5) ? String.fromCharCode(unit) : all[at]));
  return `"${written.join('')}"`;
}

t.test('names are encoded for URIs', async (t) => {
  const names = {
    a: 'a',
    'A-1': 'A-1',
    a_b: 'a.5fb',
    'a b': 'a.20b',
    'a.b': 'a.2eb',
    'a+b': 'a.2bb',
    é: 'x.-.c3.a9',
    '1': 'x.-1',
    _: 'x.-.5f',
    '-': 'x.--',
    'x.-1': 'x.2e-1',
    x: 'x',
  };
  for (const [name, expected] of Object.entries(names)) t.equal(uriName(name), expected, name);
});

t.test('no two names are encoded alike, and each encoded name is a valid scheme', async (t) => {
  const random = new Random(3);
  const pieces = ['a', 'x', 'Z', '0', '5f', '-', '.', '_', '+', '/', 'é', '🚂', ' '];
  const byUriName = new Map<string, string>();
  for (let round = 0; round < 20_000; round += 1) {
    const name = Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces)).join('');
    const written = uriName(name);
    if (!/^[A-Za-z][A-Za-z0-9.-]*$/.test(written)) t.fail(printable(`${name}: ${written}`));
    const other = byUriName.get(written);
    if (other !== undefined && other !== name) t.fail(printable(`${name} and ${other}: ${written}`));
    byUriName.set(written, name);
  }
  t.ok(byUriName.size > 5_000, `${byUriName.size} names`);
});

t.test('a caller’s URI has the backend’s name in front, or after ui://', async (t) => {
  t.equal(callersUri('b', 'file:///x'), 'b+file:///x');
  t.equal(callersUri('b', 'https://x/y'), 'b+https://x/y');
  t.equal(callersUri('b', 'ui://x/y'), 'ui://b/x/y');
  t.equal(callersUri('b', 'ui://'), 'ui://b/');
  t.equal(callersUri('b', 'ui:x'), 'b+ui:x');
  t.equal(callersUri('b', 'UI://x'), 'b+UI://x');
  t.equal(callersUri('b', ''), 'b+');
});

t.test('a URI made from a template goes back to its backend, whatever its scheme', async (t) => {
  const virtualHost = virtualHostOf({ b: {} });
  const expanded = callersUri('b', '{scheme}://x/{name}').replace('{name}', '1');
  for (const uri of ['ui://x/1', 'a://x/1']) {
    const route = routeUri(virtualHost, expanded.replace('{scheme}', uri.split(':')[0]!));
    t.equal(route?.bareUri, uri);
    t.equal(route?.backend.name, 'b');
  }
});

t.test('a URI in neither form has no backend', async (t) => {
  const host = virtualHostOf({ b: {} });
  t.match(routeUri(host, 'b+file:///x'), { bareUri: 'file:///x', cutStart: 0, cutEnd: 2 });
  t.match(routeUri(host, 'ui://b/x'), { bareUri: 'ui://x', cutStart: 5, cutEnd: 7 });
  for (const uri of ['c+x:y', 'ui://c/x', 'ui://b+x', 'b/x:y', 'b', 'bx', '', 'ui://b', 'ui://bx']) {
    t.equal(routeUri(host, uri), undefined, uri);
  }
});

t.test('a name in other capitals is found, if it is the only one', async (t) => {
  const backendOf = (virtualHost: ReturnType<typeof virtualHostOf>, uri: string): string | undefined =>
    routeUri(virtualHost, uri)?.backend.name;
  const one = virtualHostOf({ Files: {}, mail: {} });
  t.equal(backendOf(one, 'files+x:y'), 'Files');
  t.equal(backendOf(one, 'ui://FILES/x'), 'Files');
  // The Kelvin sign becomes a k in lower case, but takes three bytes instead of one.
  t.equal(backendOf(virtualHostOf({ k: {} }), '\u212a+x:y'), undefined);
});

t.test('names that differ in capitals alone stay apart, whatever a client does to their case', async (t) => {
  const both = virtualHostOf({ Files: {}, files: {}, FILES: {}, Mail: {} });
  const written = Object.fromEntries([...both.backends.values()].map(({ name, uriName }) => [name, uriName]));
  t.same(written, { Files: 'x.-.46iles', files: 'files', FILES: 'x.-.46.49.4c.45.53', Mail: 'Mail' });
  for (const { name, uriName } of both.backends.values()) {
    for (const uri of [callersUri(uriName, 'x:y'), callersUri(uriName, 'ui://x')]) {
      t.equal(routeUri(both, uri)?.backend.name, name, uri);
      const small = uri.replace(uriName, uriName.toLowerCase());
      t.equal(routeUri(both, small)?.backend.name, name, `${name}, made small`);
    }
  }
  // URIs that were given out before the other names were configured lead to no backend now.
  for (const uri of ['Files+x:y', 'FILES+x:y', 'fILES+x:y', 'ui://Files/x'])
    t.equal(routeUri(both, uri), undefined, uri);
});

t.test('a URI goes down and comes up unchanged, byte for byte where nothing is escaped', async (t) => {
  const random = new Random(11);
  const pieces = ['ui://', 'ui:/', '+', '/', 'a', ':', 'é', '🚂', '"', '\\', '\n', 'b+', 'https://', '%2b'];
  const names = ['b', 'a_b', 'é', '1', 'ui', 'B-2'];
  const virtualHost = virtualHostOf(Object.fromEntries(names.map((name) => [name, {}])));
  for (let round = 0; round < 3_000; round += 1) {
    const uri = Array.from({ length: random.below(5) }, () => random.pick(pieces)).join('');
    const name = random.pick(names);
    const token = random.chance(0.5) ? JSON.stringify(uri) : inEscapes(random, uri);
    const bytes = Buffer.from(`x${token}y`);
    const { at, putIn } = uriInsertion(bytes, 1, bytes.length - 1, uriPrefix(uriName(name)));
    const down = Buffer.concat([bytes.subarray(0, at), putIn, bytes.subarray(at)]).subarray(1, -1);
    const expected = callersUri(uriName(name), uri);
    if (JSON.parse(down.toString()) !== expected) t.equal(JSON.parse(down.toString()), expected, printable(token));
    const before = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"n":1.0,"uri":';
    const body = Buffer.concat([Buffer.from(before), down, Buffer.from('}}')]);
    const route = routeUri(virtualHost, expected);
    if (route?.backend.name !== name || route.bareUri !== uri) t.match(route, { bareUri: uri }, printable(expected));
    if (route === undefined) continue;
    const sent = bareUriBody(body, readClientMessage(body) as ClientMessage, route);
    const { start, end } = sent.leftOut ?? { start: 0, end: 0 };
    const up = Buffer.concat([body.subarray(0, start), sent.putIn ?? Buffer.alloc(0), body.subarray(end)]).toString();
    const isSame = token.includes('\\')
      ? (JSON.parse(up) as { params: { uri: string } }).params.uri === uri
      : up === `${before}${token}}}`;
    if (!isSame) t.equal(up, `${before}${token}}}`, printable(expected));
  }
  t.pass('3,000 URIs');
});
