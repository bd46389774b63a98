// Of the requests that arrive in one turn of the event loop the first pass, and more while the turn is still short; the rest waits for
// turns by subject. Each test sets how long a request takes; the turns are the event loop's own.
import t from 'tap';
import type { Exchange, ExchangeRequest } from '../../src/exchange/exchange.js';
import type { Accounts } from '../../src/fair/share.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { RequestScheduler, REQUESTS_UNTIMED_MAX } from '../../src/worker/request-scheduler.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';

/** How long a request takes unless a test says otherwise: a power of two, so that sums are exact. */
const REQUEST_MS = 0.125;
/** How many requests of a subject pass in a turn: those before the first look at the clock, those of the time that starts with it, and a late one. */
const PASSING = REQUESTS_UNTIMED_MAX + limits.turnMs / REQUEST_MS + 1;
/** How many waiting requests one turn serves. */
const SERVED_EACH_TURN = limits.turnMs / REQUEST_MS;

interface SentRequest {
  readonly exchange: Exchange;
  readonly refusal: string | undefined;
}

interface Scene {
  /** Sends so many requests of a subject, each served at once or in its turn; they are told apart by their numbers. */
  readonly send: (subject: string, count: number, method?: ExchangeRequest['method']) => SentRequest[];
  readonly served: string[];
  readonly turns: RequestScheduler;
  readonly accounts: Accounts;
  releasedBodies: number;
  resetExchanges: number;
}

/** @param requestMs how long each request takes. */
function createScene(accounts = createAccounts(), requestMs = REQUEST_MS): Scene {
  let nowMs = 0;
  const turns = new RequestScheduler(accounts, () => nowMs);
  const numbers = new Map<string, number>();
  const served: string[] = [];
  const sendOne = (subject: string, method: ExchangeRequest['method']): SentRequest => {
    const number = numbers.get(subject) ?? 0;
    numbers.set(subject, number + 1);
    const releaseBody = (): void => void (scene.releasedBodies += 1);
    const reset = (): void => void (scene.resetExchanges += 1);
    const exchange = { request: { method }, onAbort: undefined, releaseBody, reset } as unknown as Exchange;
    const serve = (): void => {
      served.push(`${subject} ${number}`);
      nowMs += requestMs;
    };
    if (turns.tryPass(subject)) {
      serve();
      return { exchange, refusal: undefined };
    }
    return { exchange, refusal: turns.queue(subject, exchange, serve)?.code };
  };
  const scene: Scene = {
    send: (subject, count, method = 'POST') => Array.from({ length: count }, () => sendOne(subject, method)),
    served,
    turns,
    accounts,
    releasedBodies: 0,
    resetExchanges: 0,
  };
  return scene;
}

async function nextTurn(): Promise<void> {
  await new Promise(setImmediate);
}

t.test('requests beyond those wait, and are served in order', async (t) => {
  const { send, served, turns } = createScene();
  send('alice', PASSING + SERVED_EACH_TURN);
  t.equal(served.length, PASSING);
  t.equal(turns.count, SERVED_EACH_TURN);
  await nextTurn();
  t.same(
    served,
    Array.from({ length: PASSING + SERVED_EACH_TURN }, (_, n) => `alice ${n}`),
  );
  served.length = 0;
  send('alice', PASSING);
  t.equal(served.length, PASSING, 'and in the turn after that all is as before');
});

t.test('a subject with one request is served after one of each other subject, not after all', async (t) => {
  const { send, served } = createScene();
  send('attacker', PASSING + 1_000);
  served.length = 0;
  await nextTurn();
  t.equal(served.length, SERVED_EACH_TURN, 'a turn takes its time, and no more');
  served.length = 0;
  send('victim', 2);
  t.same(served, ['victim 0'], 'who has nothing waiting does not wait for who has');
  await nextTurn();
  t.ok(served.indexOf('victim 1') < 3, 'and the turn of the second comes at once');
});

t.test('a turn ends when its time is over, and the rest follows', async (t) => {
  const { send, served } = createScene();
  send('alice', PASSING + 5 * SERVED_EACH_TURN);
  for (let turn = 1; turn <= 5; turn += 1) {
    await nextTurn();
    t.equal(served.length, PASSING + turn * SERVED_EACH_TURN);
  }
});

t.test('of costly requests few pass, and of those that cost nothing thousands', async (t) => {
  const dear = createScene(createAccounts(), limits.turnMs);
  dear.send('alice', 100);
  t.equal(dear.served.length, 2 * REQUESTS_UNTIMED_MAX, 'those of two looks at the clock');
  for (let turn = 1; turn <= 5; turn += 1) {
    await nextTurn();
    t.equal(dear.served.length, 2 * REQUESTS_UNTIMED_MAX + turn, 'one at least');
  }
  const cheap = createScene(createAccounts(), 0);
  cheap.send('alice', 5_000);
  t.equal(cheap.served.length, 5_000);
});

t.test('a waiting request is in flight as long as there is room, and leaves nothing behind', async (t) => {
  const { send, served, accounts } = createScene(createAccounts({ subjectRequestsInFlightMax: 10 }));
  const sent = send('alice', PASSING + 15);
  t.same(
    sent.filter(({ refusal }) => refusal !== undefined),
    [],
    'a notice or a response is never refused for want of it',
  );
  t.equal(accounts.of('alice').requests.used, 10);
  await until(() => served.length === PASSING + 15, 'all of them');
  t.equal(accounts.size, 0);
});

t.test('the number of waiting requests is bounded, per subject and in all', async (t) => {
  const { waitingMax } = limits;
  const share = perSubject(waitingMax);
  const { send, turns } = createScene();
  send('other', PASSING);
  const refusals = send('alice', 1 + share + 3, 'DELETE').map(({ refusal }) => refusal);
  t.same(
    refusals.filter((refusal) => refusal !== undefined),
    Array(3).fill('subject-requests-full'),
  );
  t.equal(send('bob', 1)[0]?.refusal, undefined);
  for (const subject of ['cem', 'dan', 'eve'])
    t.equal(send(subject, share, 'DELETE').at(-1)?.refusal, subject === 'eve' ? 'requests-full' : undefined);
  t.ok(turns.count < waitingMax);
});

t.test('four subjects that fill the turns do not shut out a fifth, which has its turn with them', async (t) => {
  const share = perSubject(limits.waitingMax);
  const { send, served } = createScene();
  for (const subject of ['alice', 'bob', 'cem', 'dan']) send(subject, PASSING + share, 'DELETE');
  served.length = 0;
  const late = send('eve', 20);
  t.same(
    late.filter(({ refusal }) => refusal !== undefined),
    [],
  );
  await nextTurn();
  t.ok(served.includes('eve 0'), 'in the next turn');
});

t.test('a caller that goes away while it waits is not served; one that deletes a session is', async (t) => {
  const scene = createScene();
  const { send, served, accounts, turns } = scene;
  send('other', PASSING);
  send('alice', 1);
  served.length = 0;
  const [gone] = send('alice', 1);
  send('alice', 1);
  const [deletes] = send('alice', 1, 'DELETE');
  gone?.exchange.onAbort?.();
  deletes?.exchange.onAbort?.();
  t.equal(turns.count, 2);
  t.equal(scene.releasedBodies, 1);
  t.equal(scene.resetExchanges, 1, 'whoever watches it hears of its end');
  t.equal(accounts.of('alice').requests.used, 2);
  await nextTurn();
  t.same(served, ['alice 2', 'alice 3']);
  t.equal(accounts.size, 0);
});

t.test('a served request is not dropped when its caller goes away', async (t) => {
  const { send, accounts } = createScene();
  send('other', PASSING);
  const [, sent] = send('alice', 2);
  await nextTurn();
  t.equal(sent?.exchange.onAbort, undefined, 'whoever serves it hears of that');
  t.equal(accounts.size, 0);
});

t.test('a DELETE for which there is no room gets its turn like all others', async (t) => {
  const { send, served } = createScene(createAccounts({ subjectRequestsInFlightMax: 1 }));
  send('other', PASSING);
  send('alice', 2);
  served.length = 0;
  t.equal(send('alice', 1, 'DELETE')[0]?.refusal, undefined);
  t.same(served, [], 'it overtakes nobody');
  await nextTurn();
  t.same(served, ['alice 1', 'alice 2']);
});
