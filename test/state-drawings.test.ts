// Every state machine whose header draws it, a line for each way through it:
//
//   from, from ── what happens ──> to ── what happens ──> to
//
// The drawing names the states of the type, and its arrows are those of the source: where one writer guards the state
// (`#transition`), each of its calls is drawn, and each arrow is some call; where the state is written as it is, for speed,
// each state that is written is some arrow's end, and the other way round.
import { readFileSync } from 'node:fs';
import t from 'tap';

interface Machine {
  readonly file: string;
  /** Methods that go on to `#transition` with this as the last state; and from this one, where they name the last. */
  readonly via?: Readonly<Record<string, { readonly from?: string; readonly to?: string }>>;
  /** Never left. */
  readonly last?: readonly string[];
  readonly isUnguarded?: true;
}

const machines: readonly Machine[] = [
  { file: 'worker/edge/edge-exchange.ts', last: ['done'], via: { finish: { to: 'done' } } },
  { file: 'worker/hop/exchange.ts', last: ['complete', 'aborted'], via: { begin: { from: 'unanswered' } } },
  { file: 'worker/hop/call.ts', last: ['done'], via: { finish: { to: 'done' }, expect: {} } },
  { file: 'control-plane/mcp/node-exchange.ts', last: ['done'] },
  { file: 'relay/batch-part.ts', last: ['over'] },
  { file: 'relay/list-merge/merged-list.ts', last: ['over'] },
  { file: 'relay/modern/held-call.ts', last: ['over'] },
  { file: 'relay/modern/listening.ts', last: ['over'] },
  { file: 'upstream/backend-stream.ts', last: ['over'] },
  { file: 'upstream/resumption.ts', last: ['over'] },
  { file: 'upstream/rpc-request.ts', last: ['done'] },
  { file: 'upstream/sse/sse-call.ts', last: ['over'] },
  { file: 'upstream/sse/sse-stream.ts', last: ['over'] },
  { file: 'store/redis-records.ts', last: ['closed'] },
  { file: 'store/redis-link.ts', last: ['lost'] },
  { file: 'store/redis-cluster-link.ts', last: ['lost'] },
  { file: 'upstream/http1/http1-connection.ts', last: ['lost'] },
  { file: 'upstream/http1/response-parser.ts', isUnguarded: true },
];

const LINE = /^\s*(?:\/\/|\*)\s{1,5}(\S.*?──>.*)$/;
const WORD = /'([a-z0-9-]+)'/g;

function arrow(from: string, to: string): string {
  return `${from} -> ${to}`;
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

/** What a call of `#transition`, or of a method that calls it, may do; nothing for the methods themselves. */
function calledArrows(source: string, machine: Machine, states: readonly string[]): string[] {
  const lasting = states.filter((state) => machine.last?.includes(state) !== true);
  const methods: NonNullable<Machine['via']> = { transition: {}, ...machine.via };
  return Object.entries(methods).flatMap(([name, { from, to }]) =>
    [...source.matchAll(new RegExp(`this\\.#${name}\\(([^()]*)`, 'g'))].flatMap(([, given = '']) => {
      const [first = '', second = ''] = /^(\[[^\]]*\]|[^,]*)(?:,\s*(.*))?$/s.exec(given)?.slice(1) ?? [];
      const sources = from !== undefined ? [from] : first === 'this.#state' ? lasting : wordsIn(first);
      const targets = to !== undefined ? [to] : wordsIn(from !== undefined ? first : second).slice(0, 1);
      return sources.flatMap((each) => targets.map((target) => arrow(each, target)));
    }),
  );
}

for (const machine of machines) {
  t.test(machine.file, async (t) => {
    const source = readFileSync(new URL(`../../src/${machine.file}`, import.meta.url), 'utf8');
    const lines = source.split('\n').flatMap((line) => LINE.exec(line)?.[1] ?? []);
    const drawn = new Set(lines.flatMap(arrowsOf));
    const states = wordsIn(/^type State =([^;]*);/m.exec(source)?.[1] ?? '');
    t.ok(states.length > 2 && drawn.size > 2, 'there is a type and a drawing');
    const named = new Set([...drawn].flatMap((each) => each.split(' -> ')));
    t.same([...named].sort(), [...states].sort(), 'the drawing has the states that there are');
    for (const state of states) {
      const isLast = machine.last?.includes(state) === true;
      t.equal(
        [...drawn].some((each) => each.startsWith(`${state} ->`)),
        !isLast,
        `${state} is left, or is the last`,
      );
    }
    const writes = [...source.matchAll(/this\.#state = ([^;]*);/g)].map(([, value = '']) => value);
    if (machine.isUnguarded === true) {
      const ends = new Set([...drawn].map((each) => each.split(' -> ')[1] ?? ''));
      const written = new Set(writes.flatMap((value) => wordsIn(value.replace(/.*=== '[^']*'/, ''))));
      t.same([...written].sort(), [...ends].sort(), 'each state that is written is drawn, and the other way round');
      return;
    }
    t.same(writes, ['to'], 'the state has one writer');
    const called = new Set(calledArrows(source, machine, states));
    t.same([...called].sort(), [...drawn].sort(), 'each call is drawn, and each arrow is some call');
  });
}

t.test('upstream/upstream-opening.ts, whose states are drawn as a table', async (t) => {
  const source = readFileSync(new URL('../../src/upstream/upstream-opening.ts', import.meta.url), 'utf8');
  const guarded = [...source.matchAll(/^ {2}(\w+): \[(.*)\],$/gm)].map(
    ([, from = '', targets = '']) => [from, wordsIn(targets).sort()] as const,
  );
  const states = guarded.map(([from]) => from);
  t.ok(states.length > 2, 'the guard was read');
  for (const [from, targets] of guarded) {
    const [, cells = ''] = new RegExp(`^//   ${from} +(\\S.*)$`, 'm').exec(source) ?? [];
    const drawn = new Set(states.filter((to) => to !== from && new RegExp(`\\b${to}\\b`).test(cells)));
    t.same([...drawn].sort(), targets, `what ${from} may become is what its row says`);
  }
});
