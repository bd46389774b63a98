// What the admin listeners of a dataplane are asked, how long, and what is told when they do not answer. There is no network: `fetch` is
// replaced.
import { setMaxListeners } from 'node:events';
import t, { type Test } from 'tap';
import * as z from 'zod';
import { AdminClient, slotName, withSlotNames } from '../../../src/control-plane/dataplane/admin-client.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { limits, perSubject } from '../../../src/shared/limits.js';

const shape = z.object({ n: z.number() });
const AMPLE = { answerMsMax: 60_000, otherAnswersMsMax: 60_000, answerBytesMax: 1_000 };

// Nothing but a deadline is open while nobody answers, and that keeps no process running.
const kept = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(kept));

interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

/** @param answer by address; a promise that never settles is silence. */
function clientOf(
  t: Test,
  answer: (host: string) => Response | Promise<Response>,
  { hosts = ['10.0.0.1'], bounds = AMPLE }: { hosts?: readonly string[]; bounds?: typeof AMPLE } = {},
): { readonly client: AdminClient; readonly asked: Asked[]; readonly looked: string[] } {
  const [asked, looked]: [Asked[], string[]] = [[], []];
  t.capture(globalThis, 'fetch', async (url: string, init: RequestInit): Promise<Response> => {
    asked.push({ url, init });
    setMaxListeners(0, init.signal!);
    const ended = new Promise<never>((_, reject) => {
      init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
    return Promise.race([answer(new URL(url).hostname), ended]);
  });
  const client = new AdminClient(
    { host: 'dataplane', port: 8_002 },
    bounds,
    async (host) => (looked.push(host), hosts),
  );
  return { client, asked, looked };
}

const silence = async (): Promise<Response> => new Promise(() => {});
const json = (value: unknown, status = 200): Response => new Response(JSON.stringify(value), { status });

async function faultOf(asking: Promise<unknown>): Promise<string[]> {
  try {
    return ['none', JSON.stringify(await asking)];
  } catch (error) {
    if (error instanceof ControlPlaneFault) return [error.code, error.message, error.messageForAdmins];
    throw error;
  }
}

t.test('a name with one address is asked once, and its answer read by its shape', async (t) => {
  const { client, asked, looked } = clientOf(t, () => json({ n: 7, more: 1 }));
  t.same(await client.ask('/x?a=b', shape), {
    answered: [{ machine: '', address: '10.0.0.1', value: { n: 7 } }],
    silent: [],
  });
  t.match(asked, [
    { url: 'http://10.0.0.1:8002/x?a=b', init: { headers: { accept: 'application/json' }, redirect: 'error' } },
  ]);
  t.same(looked, ['dataplane']);
});

t.test('several dataplanes are asked at once, and numbered; what has no such view is left out', async (t) => {
  const hosts = Array.from({ length: 34 }, (_, n) => `10.0.0.${n + 1}`);
  const answers: Readonly<Record<string, () => Response>> = {
    '10.0.0.2': () => json({}, 404),
    '10.0.0.3': () => json({ detail: 'no' }, 500),
  };
  const { client, asked } = clientOf(t, (host) => answers[host]?.() ?? json({ n: 1 }), { hosts });
  const { answered, silent } = await client.ask('/x', shape);
  t.equal(asked.length, 32);
  t.same(answered.map(({ machine }) => machine).slice(0, 3), ['1', '4', '5']);
  t.same(silent, [
    { machine: '3', address: '10.0.0.3' },
    { machine: '33', address: '10.0.0.33' },
    { machine: '34', address: '10.0.0.34' },
  ]);
});

t.test('one that hangs delays the others’ answers by a bounded time', async (t) => {
  const bounds = { ...AMPLE, otherAnswersMsMax: 1 };
  const { client } = clientOf(t, (host) => (host === '10.0.0.1' ? silence() : json({ n: 1 })), {
    hosts: ['10.0.0.1', '10.0.0.2'],
    bounds,
  });
  t.same(await client.ask('/x', shape), {
    answered: [{ machine: '2', address: '10.0.0.2', value: { n: 1 } }],
    silent: [{ machine: '1', address: '10.0.0.1' }],
  });
});

t.test('why nobody answers is told to admins alone', async (t) => {
  const WORDS = 'The dataplane’s admin listener does not respond: admins can see why';
  const advice = 'check that a dataplane is running, and that --dataplane-admin-address is its --admin-address';
  const because = (why: string, host = '10.0.0.1'): string[] => [
    'dataplane-unreachable',
    WORDS,
    `The admin listener at http://${host}:8002 does not respond: ${why}; ${advice}`,
  ];
  const reasonFor = async (answer: () => Response | Promise<Response>, bounds = AMPLE): Promise<string[]> =>
    faultOf(clientOf(t, answer, { bounds }).client.ask('/x', shape));
  t.same(await reasonFor(silence, { ...AMPLE, answerMsMax: 1 }), because('it did not respond in 1 ms'));
  const refused = Object.assign(new Error('m'), { code: 'ECONNREFUSED' });
  t.same(
    await reasonFor(() => Promise.reject(new TypeError('fetch failed', { cause: refused }))),
    because('ECONNREFUSED'),
  );
  t.same(await reasonFor(() => Promise.reject(new Error('odd'))), because('odd'));
  t.same(await reasonFor(() => Promise.reject(Object.assign(new Error(''), { message: undefined }))), because(''));
  t.same(await reasonFor(() => new Response('{')), because('its response is not JSON'));
  const lost = new AdminClient({ host: 'dataplane', port: 8_002 }, AMPLE, () =>
    Promise.reject(Object.assign(new Error('m'), { code: 'ENOTFOUND' })),
  );
  t.same(await faultOf(lost.ask('/x', shape)), because('the name was not found (ENOTFOUND)', 'dataplane'));
  const slow = new AdminClient(
    { host: 'dataplane', port: 8_002 },
    { ...AMPLE, answerMsMax: 1 },
    () => new Promise(() => {}),
  );
  t.same(await faultOf(slow.ask('/x', shape)), because('the name was not found (no answer)', 'dataplane'));
});

t.test('an answer that is none is refused with what is known of it', async (t) => {
  const WORDS = 'The dataplane’s admin listener refused the question';
  const of = async (answer: () => Response, otherStatus?: number): Promise<string[]> =>
    faultOf(clientOf(t, answer).client.ask('/x', shape, undefined, otherStatus));
  t.same(await of(() => json({ detail: 'x'.repeat(501) }, 400)), [
    'dataplane-refused',
    WORDS,
    `${WORDS}: ${'x'.repeat(500)}`,
  ]);
  t.same(await of(() => json(null, 400)), ['dataplane-refused', WORDS, `${WORDS}: status 400`]);
  t.same(await of(() => json({ detail: 7 }, 500)), ['dataplane-refused', WORDS, `${WORDS}: status 500`]);
  t.same(await of(() => json({ detail: 'why' }, 503)), [
    'dataplane-busy',
    'The dataplane cannot answer now: try again',
    'why',
  ]);
  t.match(await of(() => json({ n: 'no number' })), [
    'dataplane-refused',
    /is not understood: it may be another version/,
  ]);
  t.match(await of(() => json({ n: 1 }, 503), 503), ['none', /"n":1/], 'a status that is asked for is an answer');
  const tooLarge = 'The dataplane’s response has more than 1000 bytes: ask for less';
  t.match(await of(() => json('x'.repeat(998))), ['dataplane-refused', /is not understood/]);
  t.same(await of(() => json('x'.repeat(999))), ['dataplane-refused', tooLarge, tooLarge]);
});

t.test('each subject asks a bounded number of questions at once, and what nobody asks is not counted', async (t) => {
  let answerAll = (): void => {};
  const { client, asked } = clientOf(
    t,
    async () =>
      new Promise((resolve) => {
        const before = answerAll;
        answerAll = () => (before(), resolve(json({ n: 1 })));
      }),
  );
  const share = perSubject(limits.dataplaneQuestionsMax);
  const waiting = Array.from({ length: share }, async () => client.ask('/x', shape, 'ann'));
  t.match(await faultOf(client.ask('/x', shape, 'ann')), [
    'dataplane-busy',
    /Too many questions to the dataplane at once/,
  ]);
  waiting.push(...Array.from({ length: limits.dataplaneQuestionsMax }, async () => client.ask('/x', shape)));
  waiting.push(client.ask('/x', shape, 'bob'));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(asked.length, waiting.length);
  answerAll();
  await Promise.all(waiting);
  const again = client.ask('/x', shape, 'ann');
  await new Promise((resolve) => setImmediate(resolve));
  answerAll();
  t.match(await again, { answered: [{ value: { n: 1 } }] }, 'there is room again');
});

t.test('a host of its own is looked up as one address of a family; localhost is kept', async (t) => {
  const asked: string[] = [];
  t.capture(globalThis, 'fetch', async (url: string) => (asked.push(url), json({ n: 1 })));
  for (const host of ['localhost', '127.0.0.1', '::1']) await new AdminClient({ host, port: 1 }).ask('/x', shape);
  t.same(asked, ['http://localhost:1/x', 'http://127.0.0.1:1/x', 'http://[::1]:1/x']);
});

t.test('a worker is named with its dataplane if there are several', async (t) => {
  t.same([slotName('', 3), slotName('2', 3)], [3, '2/3']);
  t.same(withSlotNames('2', [{ slot: 3, a: 1 }]), [{ slot: '2/3', a: 1 }]);
});
