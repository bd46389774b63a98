import t from 'tap';
import { listKinds } from '../../src/mcp/list-kinds.js';
import { isAllowed, isReachable, rivalsOf, routeName } from '../../src/user-config/routing.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

/** A route as text: `backend / bare name`. */
function route(virtualHost: ReturnType<typeof virtualHostOf>, name: string): string | undefined {
  const found = routeName(virtualHost, 'tools', name);
  return found === undefined ? undefined : `${found.backend.name} / ${found.bareName}`;
}

t.test('the longest configured backend name that fits wins', async (t) => {
  const virtualHost = virtualHostOf({ a: {}, 'a-b': {}, 'a-b-c': {}, b: {} });
  t.equal(route(virtualHost, 'a-x'), 'a / x');
  t.equal(route(virtualHost, 'a-b'), 'a / b', 'the longer name does not fit: it has no hyphen behind it');
  t.equal(route(virtualHost, 'a-b-'), 'a-b / ');
  t.equal(route(virtualHost, 'a-b-x'), 'a-b / x');
  t.equal(route(virtualHost, 'a-b-c-x'), 'a-b-c / x');
  t.equal(route(virtualHost, 'a-bc-x'), 'a / bc-x');
  t.equal(route(virtualHost, 'a--x'), 'a / -x', 'all behind the first hyphen is the tool');
});

t.test('a name with no configured prefix has no route', async (t) => {
  const virtualHost = virtualHostOf({ a: {}, 'x-y': {} });
  for (const name of ['', '-', 'a', 'A-x', 'ab-x', '-a-x', ' a-x', 'a_x', 'x-', 'x-y', 'constructor-x']) {
    t.equal(route(virtualHost, name), undefined, name);
  }
  t.equal(route(virtualHostOf({}), 'a-x'), undefined, 'no backends at all');
});

t.test('names are compared by their characters, whatever those are', async (t) => {
  const virtualHost = virtualHostOf({ é: {}, 'e\u0301': {}, '🚂': {}, ['__proto__']: {}, '"': {}, ' ': {} });
  t.equal(route(virtualHost, 'é-ß'), 'é / ß');
  t.equal(route(virtualHost, 'e\u0301-ß'), 'e\u0301 / ß', 'the same letter in two ways is two names');
  t.equal(route(virtualHost, '🚂-🚃'), '🚂 / 🚃');
  t.equal(route(virtualHost, '__proto__-x'), '__proto__ / x');
  t.equal(route(virtualHost, '"-\\'), '" / \\');
  t.equal(route(virtualHost, ' - '), '  /  ');
  t.equal(route(virtualHost, '\ud83d-x'), undefined, 'half of a surrogate pair');
});

t.test('an allow-list excludes everything else, by bare names', async (t) => {
  const virtualHost = virtualHostOf({ a: { allowed_tool_names: ['x', 'a-y'] }, b: { allowed_tool_names: [] } });
  t.equal(route(virtualHost, 'a-x'), 'a / x');
  t.equal(route(virtualHost, 'a-a-y'), 'a / a-y');
  for (const name of ['a-y', 'a-X', 'a-', 'a-x ', 'a-xx']) t.equal(route(virtualHost, name), undefined, name);
  t.equal(route(virtualHost, 'b-anything'), 'b / anything', 'an empty list allows all');
  t.ok(isAllowed(backendOf(virtualHost, 'a'), listKinds.tools, 'x', undefined));
  t.notOk(isAllowed(backendOf(virtualHost, 'a'), listKinds.tools, 'z', undefined));
  t.ok(isAllowed(backendOf(virtualHost, 'b'), listKinds.tools, 'z', undefined));
});

t.test('a tool whose merged name goes to a longer backend name cannot be reached', async (t) => {
  const virtualHost = virtualHostOf({ a: {}, 'a-b': { allowed_tool_names: ['only'] } });
  const a = backendOf(virtualHost, 'a');
  const b = backendOf(virtualHost, 'a-b');
  t.ok(isReachable(rivalsOf(virtualHost, a), a, 'b'));
  t.ok(isReachable(rivalsOf(virtualHost, a), a, 'bb-c'));
  t.notOk(isReachable(rivalsOf(virtualHost, a), a, 'b-c'));
  t.notOk(isReachable(rivalsOf(virtualHost, a), a, 'b-'));
  t.ok(isReachable(rivalsOf(virtualHost, b), b, 'c'));
  t.equal(route(virtualHost, 'a-b-c'), undefined, "it is the longer one's, even when its allow-list refuses it");
});

t.test('routing agrees with a literal reading of the rule, on random names', async (t) => {
  const random = new Random(20_251_125);
  const alphabet = ['a', 'b', '-', '-', 'é'];
  const name = (lengthMax: number): string =>
    Array.from({ length: 1 + random.below(lengthMax) }, () => random.pick(alphabet)).join('');
  let routedCount = 0;
  for (let round = 0; round < 300; round += 1) {
    const names = Array.from({ length: 1 + random.below(5) }, () => name(4));
    const virtualHost = virtualHostOf(Object.fromEntries(names.map((each) => [each, {}])));
    for (let call = 0; call < 10; call += 1) {
      const full = random.chance(0.5) ? `${random.pick(names)}-${name(4)}` : name(8);
      const fitting = names
        .filter((each) => full.startsWith(`${each}-`))
        .sort((one, other) => other.length - one.length);
      const [longest] = fitting;
      for (const each of fitting) {
        const backend = backendOf(virtualHost, each);
        const bareName = full.slice(each.length + 1);
        const isFound = isReachable(rivalsOf(virtualHost, backend), backend, bareName);
        if (isFound !== (each === longest)) t.fail(printable(`${bareName} of ${each} beside ${names.join(' ')}`));
      }
      const expected = longest === undefined ? undefined : `${longest} / ${full.slice(longest.length + 1)}`;
      if (expected !== undefined) routedCount += 1;
      if (route(virtualHost, full) !== expected) {
        t.equal(route(virtualHost, full), expected, printable(`${full} beside ${names.join(' ')}`));
      }
    }
  }
  t.ok(routedCount > 1_000, `${routedCount} names had a route`);
});
