// Queries for one name, against a resolver that answers when the test says so, on a clock that the test moves.
import type { RecordWithTtl, Resolver } from 'node:dns';
import { mock } from 'node:test';
import t from 'tap';
import {
  queryName,
  type NameAnswer,
  OTHER_FAMILY_WAIT_MS,
  ADDRESSES_PER_NAME_MAX,
} from '../../../src/http-client/names/name-query.js';

type OnRecords = (error: NodeJS.ErrnoException | null, records: RecordWithTtl[]) => void;

class ScriptedResolver {
  readonly #waiting = new Map<string, OnRecords>();

  resolve6(name: string, _options: object, onRecords: OnRecords): void {
    this.#waiting.set(`six of ${name}`, onRecords);
  }

  resolve4(name: string, _options: object, onRecords: OnRecords): void {
    this.#waiting.set(`four of ${name}`, onRecords);
  }

  /** @param what such as `six of a.test`. @param outcome records, or an error code. */
  answer(what: string, outcome: readonly RecordWithTtl[] | string): void {
    const onRecords = this.#waiting.get(what);
    if (onRecords === undefined) throw new Error(`nobody asked for ${what}`);
    this.#waiting.delete(what);
    if (typeof outcome === 'string') onRecords(Object.assign(new Error(outcome), { code: outcome }), []);
    else onRecords(null, [...outcome]);
  }
}

function query(...candidates: string[]): { resolver: ScriptedResolver; answers: NameAnswer[] } {
  const resolver = new ScriptedResolver();
  const answers: NameAnswer[] = [];
  queryName(resolver as unknown as Resolver, candidates, (answer) => answers.push(answer));
  return { resolver, answers };
}

function record(address: string, ttl = 60): RecordWithTtl {
  return { address, ttl };
}

t.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
t.teardown(() => mock.timers.reset());

t.test('addresses are kept for the shortest TTL among them', async (t) => {
  const { resolver, answers } = query('a.test');
  resolver.answer('six of a.test', [record('::1', 50), record('::2', 40)]);
  resolver.answer('four of a.test', [record('127.0.0.1', 30), record('127.0.0.2', 90)]);
  t.same(answers, [{ kind: 'found', addresses: ['::1', '::2', '127.0.0.1', '127.0.0.2'], ttlMs: 30_000 }]);
  const other = query('a.test');
  other.resolver.answer('six of a.test', [record('::1', 50), record('::2', 20)]);
  other.resolver.answer('four of a.test', [record('127.0.0.1', 30)]);
  t.match(other.answers, [{ ttlMs: 20_000 }]);
});

t.test('the number of addresses of each family is bounded', async (t) => {
  const { resolver, answers } = query('a.test');
  const count = ADDRESSES_PER_NAME_MAX + 1;
  resolver.answer(
    'six of a.test',
    Array.from({ length: count }, (_, index) => record(`::${index + 1}`)),
  );
  resolver.answer('four of a.test', 'ENODATA');
  const [answer] = answers;
  t.equal(answer?.kind === 'found' && answer.addresses.length, ADDRESSES_PER_NAME_MAX);
});

t.test(
  'a late address family is waited for briefly and added when it arrives; a complete answer is given only once',
  async (t) => {
    const { resolver, answers } = query('a.test');
    resolver.answer('four of a.test', [record('127.0.0.1')]);
    mock.timers.tick(OTHER_FAMILY_WAIT_MS - 1);
    t.same(answers, []);
    mock.timers.tick(1);
    t.match(answers, [{ addresses: ['127.0.0.1'] }]);
    resolver.answer('six of a.test', [record('::1')]);
    t.match(answers[1], { addresses: ['::1', '127.0.0.1'] });

    const prompt = query('b.test');
    prompt.resolver.answer('four of b.test', [record('127.0.0.1')]);
    prompt.resolver.answer('six of b.test', [record('::1')]);
    mock.timers.tick(OTHER_FAMILY_WAIT_MS);
    t.match(prompt.answers, [{ addresses: ['::1', '127.0.0.1'] }]);
    t.equal(prompt.answers.length, 1);
  },
);

t.test('a name counts as not found only when the name server says so for both families', async (t) => {
  const outcomes = [
    ['ENOTFOUND', 'ENODATA', 'not-found'],
    ['ESERVFAIL', 'ENODATA', 'failed'],
    ['ENODATA', 'ESERVFAIL', 'failed'],
    ['EREFUSED', 'EREFUSED', 'failed'],
  ] as const;
  for (const [six, four, kind] of outcomes) {
    const { resolver, answers } = query('a.test');
    resolver.answer('six of a.test', six);
    resolver.answer('four of a.test', four);
    t.same(answers, [{ kind }], `${six}, ${four}`);
  }
});

t.test('a name counts as failed, not as not found, when one of its search domains failed', async (t) => {
  const { resolver, answers } = query('a.one.example', 'a.two.example', 'a');
  for (const kind of ['six', 'four']) resolver.answer(`${kind} of a.one.example`, 'ESERVFAIL');
  for (const kind of ['six', 'four']) resolver.answer(`${kind} of a.two.example`, 'ENOTFOUND');
  for (const kind of ['six', 'four']) resolver.answer(`${kind} of a`, 'ENOTFOUND');
  t.same(answers, [{ kind: 'failed' }]);
});
