// Gathering the workers' answers to an operator's question; the processes are stand-ins, because only their identity matters.
import { EventEmitter } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import t from 'tap';
import type { ViewQuestion } from '../../src/process/messages.js';
import type { PolledSlot } from '../../src/primary/slot.js';
import { askWorkers, viewChanges, viewPages, type WorkerAnswer } from '../../src/primary/view-pages.js';
import { WorkerPolls } from '../../src/primary/worker-polls.js';
import { limits } from '../../src/shared/limits.js';

function asked(slot: number, worker: ChildProcess | undefined): PolledSlot {
  return { slot, state: worker === undefined ? 'waiting' : 'listening', worker, storeObstacle: '' };
}

function workers(): [ChildProcess, ChildProcess] {
  return [new EventEmitter() as ChildProcess, new EventEmitter() as ChildProcess];
}

t.test('a worker that does not answer in time counts as silent, and the others are shown', async (t) => {
  const [one, hung] = workers();
  const tickets: number[] = [];
  const polls = new WorkerPolls<string>();
  const send = (worker: ChildProcess, ticket: number): void => {
    tickets.push(ticket);
    if (worker === one) setImmediate(() => polls.onAnswer(one, ticket, '{"a":1}'));
  };
  const answers = await askWorkers(polls, [asked(0, one), asked(1, hung), asked(2, undefined)], send, 20);
  t.match(answers, [
    { slot: 0, answer: { a: 1 } },
    { slot: 1, answer: undefined },
    { slot: 2, state: 'waiting', pid: undefined, answer: undefined },
  ]);
  t.equal(tickets.length, 2);
  polls.onAnswer(hung, tickets[0] ?? 0, '{"late":1}');
});

t.test('dead workers are not waited for, and the number of questions at once is bounded', async (t) => {
  const [one, other] = workers();
  const polls = new WorkerPolls<string>();
  const rounds = Array.from({ length: limits.adminViewsAtOnceMax }, () =>
    askWorkers(polls, [asked(0, one), asked(1, other)], () => {}, 60_000),
  );
  t.equal(await askWorkers(polls, [asked(0, one)], () => {}, 60_000), undefined);
  polls.onWorkerGone(one);
  polls.onWorkerGone(other);
  for (const answers of await Promise.all(rounds)) t.match(answers, [{ answer: undefined }, { answer: undefined }]);
});

t.test('pages of sessions run over the slots, and say where the next one begins', async (t) => {
  const all = [
    { slot: 0, sessions: ['a', 'b', 'c'] },
    { slot: 1, sessions: ['d', 'e'] },
  ];
  const pages = viewPages({
    ask: async (question) => {
      if (question.view !== 'sessions') throw new Error(question.view);
      const { firstSlot, offset, countMax } = question;
      return all.map(({ slot, sessions }) => {
        const from = slot < firstSlot ? sessions.length : slot === firstSlot ? offset : 0;
        const list = sessions.slice(from, from + countMax).map((session) => ({ session }));
        return { slot, pid: 1, state: 'listening', storeObstacle: '', answer: { list, matching: sessions.length } };
      });
    },
    setLogLevel: () => {},
  });
  const seen: string[][] = [];
  let next: string | undefined = '0.0';
  while (next !== undefined) {
    const page = await pages['/sessions']?.('', new URLSearchParams({ limit: '2', cursor: next }), '');
    const answer = JSON.parse(page?.body ?? '') as { sessions: { session: string }[]; total: number; next?: string };
    t.equal(answer.total, 5);
    seen.push(answer.sessions.map(({ session }) => session));
    next = answer.next;
  }
  t.strictSame(seen.flat(), ['a', 'b', 'c', 'd', 'e']);
  t.ok(seen.every(({ length }) => length <= 2));
  for (const limit of ['0', 'x', '1.5', String(limits.viewPageMax + 1)]) {
    t.equal((await pages['/sessions']?.('', new URLSearchParams({ limit }), ''))?.status, 400, limit);
  }
});

t.test('an explanation has each slot once, also while the predecessor of its worker finishes', async (t) => {
  const answered = (slot: number, state: WorkerAnswer['state'], config: string): WorkerAnswer => {
    return { slot, pid: 1, state, storeObstacle: '', answer: { config } };
  };
  const pages = viewPages({
    ask: async () => [answered(0, 'listening', 'new'), answered(1, 'draining', 'only'), answered(0, 'draining', 'old')],
    setLogLevel: () => {},
  });
  const page = await pages['/explain']?.('', new URLSearchParams({ subject: 's', virtual_host: 'v' }), '');
  t.same(JSON.parse(page?.body ?? ''), {
    workers: [
      { slot: 0, config: 'new' },
      { slot: 1, config: 'only' },
    ],
    silent: [],
  });
});

t.test('an explanation that lacks a subject or a virtual host says what is missing', async (t) => {
  const pages = viewPages({ ask: async () => [], setLogLevel: () => {} });
  for (const query of ['', 'subject=s', 'virtual_host=v', 'subject=&virtual_host=v']) {
    const page = await pages['/explain']?.('', new URLSearchParams(query), '');
    t.match(page, { status: 400, body: /subject.*virtual_host/ }, query);
  }
});

t.test('a log level must be one of the existing levels', async (t) => {
  const set: string[] = [];
  const { '/log-level': change } = viewChanges({ setLogLevel: (level) => void set.push(level) });
  for (const body of ['', 'debug', '{}', '{"level":"loud"}', '{"level":1}', 'null', '{"level":"silent"}']) {
    t.equal(change?.(body).status, 400, body);
    t.match(change?.(body).body, /level must be one of fatal, error, warn, info, debug, trace"/);
  }
  t.match(change?.('{"level":"debug"}'), { status: 200, body: '{"level":"debug"}\n' });
  t.strictSame(set, ['debug']);
});

t.test('pages about workers say which of them are absent, and which are silent', async (t) => {
  const origin = { origin: 'https://b.example' };
  const common = { state: 'listening', storeObstacle: '' } as const;
  const answers: WorkerAnswer[] = [
    { ...common, slot: 0, pid: 10, answer: { list: [origin], sessions: 3 } },
    { ...common, slot: 1, pid: 11, answer: undefined },
    { ...common, slot: 2, pid: undefined, answer: undefined, state: 'waiting', storeObstacle: 'no Redis' },
    { ...common, slot: 3, pid: 13, answer: null },
    { ...common, slot: 4, pid: 14, answer: { list: 'none' } },
  ];
  const asked: ViewQuestion[] = [];
  const pages = viewPages({
    ask: async (question) => {
      asked.push(question);
      return answers;
    },
    setLogLevel: () => {},
  });
  const read = async (path: string, name = '', query = {}): Promise<unknown> => {
    const page = await pages[path]?.('', new URLSearchParams(query), name);
    t.match(page, { status: 200, contentType: 'application/json' });
    return JSON.parse(page?.body ?? '');
  };
  t.match(await read('/workers'), {
    workers: [
      { slot: 0, pid: 10, state: 'listening', health: 'ok', sessions: 3 },
      { slot: 1, pid: 11, health: 'silent' },
      { slot: 2, pid: null, state: 'waiting', health: 'absent', storeObstacle: 'no Redis' },
      { slot: 3, pid: 13, health: 'silent' },
      { slot: 4, pid: 14, health: 'ok' },
    ],
  });
  t.same(await read('/backends'), { backends: [{ slot: 0, ...origin }], silent: [1, 2] });
  t.same(await read('/requests/', 'r-1'), { requests: [{ slot: 0, ...origin }], silent: [1, 2] });
  const sessions = { sessions: [{ slot: 0, ...origin }], total: 0, silent: [1, 2] };
  for (const cursor of [undefined, 'x0.7', '0.7x'])
    t.same(await read('/sessions', '', { ...(cursor && { cursor }) }), sessions);
  t.same(await read('/sessions', '', { subject: 's', session: 'h', cursor: '0.7', limit: '1' }), sessions);
  const of = { subject: 's', virtual_host: 'v' };
  t.match(await read('/explain', '', of), { workers: [{ slot: 0 }, { slot: 4 }], silent: [1, 2] });
  await read('/explain', '', { ...of, tool: 'a-b' });
  const all = { subject: '', session: '', firstSlot: 0, offset: 0, countMax: limits.viewPageMax };
  t.same(asked, [
    { view: 'worker' },
    { view: 'backends' },
    { view: 'request', requestId: 'r-1' },
    ...Array.from({ length: 3 }, () => ({ view: 'sessions', ...all }) as const),
    { view: 'sessions', ...all, subject: 's', session: 'h', offset: 7, countMax: 1 },
    { view: 'explain', subject: 's', virtualHost: 'v', tool: '' },
    { view: 'explain', subject: 's', virtualHost: 'v', tool: 'a-b' },
  ]);
});

t.test('while too many questions are open, every page says so, and a mistake is still told as one', async (t) => {
  const pages = viewPages({ ask: async () => undefined, setLogLevel: () => {} });
  const query = new URLSearchParams({ subject: 's', virtual_host: 'v' });
  for (const [path, page] of Object.entries(pages)) t.match(await page('', query, 'r-1'), { status: 503 }, path);
  t.match(await pages['/explain']?.('', new URLSearchParams(), ''), { status: 400 });
});

t.test('a request that no worker knows is not found, and the page says which workers may know it', async (t) => {
  const common = { state: 'listening', storeObstacle: '' } as const;
  const { '/requests/': find } = viewPages({
    ask: async () => [
      { ...common, slot: 0, pid: 10, answer: { list: [] } },
      { ...common, slot: 1, pid: 11, answer: undefined },
    ],
    setLogLevel: () => {},
  });
  const page = await find?.('', new URLSearchParams(), 'r-1');
  t.equal(page?.status, 404);
  t.match(JSON.parse(page?.body ?? ''), { detail: /no worker knows/, silent: [1] });
});
