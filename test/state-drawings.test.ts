// Every state machine whose comments draw it, a line for each way through it:
//
//   from, from ── what happens ──> to ── what happens ──> to
//
// The drawing names the states of the type, and its arrows are those of the source: where one writer guards the state
// (`#transition`), each of its calls is drawn, and each arrow is some call; where the state is assigned directly, for speed,
// each assigned state is the end of some arrow, and vice versa. Files are found by their contents: every file with
// `#transition` has a drawing, and a drawing without one is listed below, with where its states are kept.
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const SOURCES = new URL('../../src/', import.meta.url);

/** Files that assign the state directly, for speed. */
const UNGUARDED: ReadonlySet<string> = new Set(['http-client/response-parser.ts']);

/** Drawings of states that no member holds. */
const KEPT_ELSEWHERE: Readonly<Record<string, string>> = {
  'streams/asking/backend-requests.ts': 'a question is in the map of those that wait, or gone from it',
  'streams/stream-keeper.ts': 'a stream is in one of three lists',
  'credentials/token.ts': 'a token is good until a time, whoever looks at it',
  'credentials/user-tokens.ts': 'a record of the store, which processes share',
  'http-client/dial.ts': 'a dial has a look-up, sockets, or neither',
  'http-client/origin-pool.ts': 'a call is in a queue, or has a connection',
  'http-client/read-scheduler.ts': 'a connection is in one of the queues',
  'upstream/session/modern-listening.ts': 'a stream is the current one, the next, or neither',
  'fair/turn-scheduler.ts': 'a task is in the queue, or has passed',
};

const LINE = /^\s*(?:\/\/|\*)\s{1,5}(\S.*?──>.*)$/;
const WORD = /'([a-z0-9-]+)'/g;
const WRITER = /^ {2}#transition\(/m;
const PASSED_ON = /this\.#transition\((from|\['[a-z-]+'\]|'[a-z-]+'), (to|'[a-z-]+')\)/g;

function arrow(from: string, to: string): string {
  return `${from} -> ${to}`;
}

function linesOf(source: string): string[] {
  return source.split('\n').flatMap((line) => LINE.exec(line)?.[1] ?? []);
}

/** The arrows of one line. */
function arrowsOf(line: string): string[] {
  const stops = line.split(/\s*──[^>]*──>\s*/).map((stop) => stop.split(',').map((state) => state.trim()));
  return stops
    .slice(1)
    .flatMap((targets, index) => (stops[index] ?? []).flatMap((from) => targets.map((to) => arrow(from, to))));
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(WORD)].map(([, word]) => word ?? '');
}

interface Call {
  readonly from: readonly string[] | 'any';
  readonly to: string;
}

/** Methods that pass their `from`, their `to` or both on to `#transition`; any argument that they do not take is the same in each call. */
function writersIn(source: string): Map<string, { readonly from?: string; readonly to?: string }> {
  const writers = new Map<string, { readonly from?: string; readonly to?: string }>([['transition', {}]]);
  for (const { 1: from = '', 2: to = '', index } of source.matchAll(PASSED_ON)) {
    if (from !== 'from' && to !== 'to') continue;
    const [, name = ''] = [...source.slice(0, index).matchAll(/^ {2}#?(\w+)\(/gm)].at(-1) ?? [];
    writers.set(name, { ...(from !== 'from' && { from }), ...(to !== 'to' && { to }) });
  }
  return writers;
}

/** The arrows of each call of `#transition`, or of a method that calls it; the calls inside those methods are left out. */
function callsIn(source: string): Call[] {
  return [...writersIn(source)].flatMap(([name, fixed]) =>
    [...source.matchAll(new RegExp(`this\\.#${name}\\(([^()]*)`, 'g'))].flatMap(([, given = '']) => {
      const [first = '', second = ''] = /^(\[[^\]]*\]|[^,]*)(?:,\s*(.*))?$/s.exec(given)?.slice(1) ?? [];
      const from = fixed.from ?? first;
      const [to] = wordsIn(fixed.to ?? (fixed.from === undefined ? second : first));
      return to === undefined ? [] : [{ from: /^this\.#?state$/.test(from) ? 'any' : wordsIn(from), to }];
    }),
  );
}

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort()
  .map((file) => ({ file, source: readFileSync(new URL(file, SOURCES), 'utf8') }));

t.test('each state writer has a drawing, and each drawing has a writer', async (t) => {
  const drawn = files.filter(({ source }) => linesOf(source).length > 0).map(({ file }) => file);
  const guarded = files.filter(({ source }) => WRITER.test(source)).map(({ file }) => file);
  t.ok(guarded.length > 20, 'files were found');
  t.same(
    guarded.filter((file) => !drawn.includes(file)),
    [],
    'nobody writes states without a drawing',
  );
  t.same(
    drawn.filter((file) => !guarded.includes(file) && !UNGUARDED.has(file)),
    Object.keys(KEPT_ELSEWHERE).sort(),
    'what is drawn has one writer, or is known to be kept elsewhere',
  );
});

for (const { file, source } of files) {
  const isUnguarded = UNGUARDED.has(file);
  if (!WRITER.test(source) && !isUnguarded) continue;
  t.test(file, async (t) => {
    const drawn = new Set(linesOf(source).flatMap(arrowsOf));
    const states = wordsIn(/^type State =([^;]*);/m.exec(source)?.[1] ?? '');
    t.ok(states.length > 2 && drawn.size > 2, 'there is a type and a drawing');
    const named = new Set([...drawn].flatMap((each) => each.split(' -> ')));
    t.same([...named].sort(), [...states].sort(), 'the drawing has the states that there are');
    const left = new Set([...drawn].map((each) => each.split(' -> ')[0] ?? ''));
    const writes = [...source.matchAll(/this\.#?state = ([^;]*);/g)].map(([, value = '']) => value);
    if (isUnguarded) {
      const ends = new Set([...drawn].map((each) => each.split(' -> ')[1] ?? ''));
      const written = new Set(writes.flatMap((value) => wordsIn(value.replace(/.*=== '[^']*'/, ''))));
      t.same([...written].sort(), [...ends].sort(), 'each state that is written is drawn, and the other way round');
      return;
    }
    t.same(writes, ['to'], 'the state has one writer');
    const calls = callsIn(source);
    for (const { to } of calls.filter(({ from }) => from === 'any'))
      t.same(
        states.filter((state) => !left.has(state)),
        [to],
        `any state leads to ${to}, which must be the only final state`,
      );
    const called = calls.flatMap(({ from, to }) =>
      (from === 'any' ? states.filter((state) => left.has(state)) : from).map((each) => arrow(each, to)),
    );
    t.same([...new Set(called)].sort(), [...drawn].sort(), 'each call is drawn, and each arrow is some call');
  });
}
