// One backend of each hostile kind beside a good one, in the sessions of two callers: whatever the hostile one does to its own calls,
// sessions begin, each call of the good one gets its own answer, and the list has its tools.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { encodeEvent, startRawBackend, type RawBackendOptions, type ReceivedRequest } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { WiredRelay, type WiredCaller } from './wired-relay.js';

const HOSTILE_CALLS = 10;
const GOOD_CALLS = 20;
/** How long a list waits for the hostile one. */
const LIST_MS = 500;

function idOf(request: ReceivedRequest): unknown {
  return (JSON.parse(request.text) as { id?: unknown }).id;
}

/** Answers the handshake as a backend should, so that only what follows is hostile. */
function greets(request: ReceivedRequest): boolean {
  if (request.text.includes('"initialize"')) {
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
    request.json({ jsonrpc: '2.0', id: idOf(request), result }, { headers: { 'mcp-session-id': 'hostile' } });
    return true;
  }
  if (request.method !== 'DELETE' && !request.text.includes('notifications/')) return false;
  request.empty(202);
  return true;
}

interface Kind {
  readonly does: (request: ReceivedRequest) => void | Promise<void>;
  readonly options?: RawBackendOptions;
}

const kinds: Readonly<Record<string, Kind>> = {
  'is silent from the start': { does: () => undefined },
  'is silent once a session is open': { does: (request) => void greets(request) },
  'resets every connection': { does: (request) => request.reset() },
  'resets once a session is open': {
    does: (request) => {
      if (!greets(request)) request.reset();
    },
  },
  'speaks no HTTP': { does: (request) => request.bytes('SSH-2.0-OpenSSH_9.6\r\n') },
  'answers before it was asked all': {
    does: (request) => {
      request.json({ jsonrpc: '2.0', id: 'early', result: {} });
      request.destroy();
    },
    options: { readsBodies: false },
  },
  'has a fat answer to initialize': {
    does: (request) => {
      const instructions = 'x'.repeat(limits.initializeAnswerBytesMax);
      const result = { protocolVersion: '2025-11-25', capabilities: {}, instructions };
      request.json({ jsonrpc: '2.0', id: idOf(request), result });
    },
  },
  'has a fat list': {
    does: (request) => {
      if (greets(request)) return;
      const tools = Array.from({ length: 1_000 }, (_, index) => ({
        name: `t${index}`,
        description: 'x'.repeat(1_000),
      }));
      request.json({ jsonrpc: '2.0', id: idOf(request), result: { tools } });
    },
  },
  'streams without end': {
    does: async (request) => {
      if (greets(request)) return;
      const stream = request.eventStream();
      const notice = {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: 'x'.repeat(1_000) },
      };
      const event = encodeEvent(notice).repeat(20);
      while (!request.connection.destroyed) {
        await stream.bytes(event);
        await new Promise(setImmediate);
      }
    },
  },
  'asks without end': {
    does: async (request) => {
      if (greets(request)) return;
      if (idOf(request) === undefined || !request.text.includes('"method"')) {
        request.empty(202);
        return;
      }
      const stream = request.eventStream();
      for (let id = 0; !request.connection.destroyed; id += 1) {
        await stream.event({ jsonrpc: '2.0', id, method: 'ping' });
        await new Promise(setImmediate);
      }
    },
  },
  'loses every session': {
    does: (request) => {
      if (!greets(request)) request.empty(404);
    },
  },
};

// Each test spends most of its time waiting for what never comes.
t.jobs = 4;

for (const [what, { does, options }] of Object.entries(kinds)) {
  t.test(`beside a backend that ${what}`, async (t) => {
    const good = await backendFor(t, { tools: ['x'] });
    const hostile = await startRawBackend(does, options);
    t.teardown(() => hostile.close());
    const wired = new WiredRelay(t, { initializePatienceMs: 100, listTimeoutMs: LIST_MS, callIdleTimeoutMs: 60_000 });
    const backends = { good: good.url, hostile: hostile.url };
    const [mallory, alice] = [wired.caller(backends, 'mallory'), wired.caller(backends, 'alice')];
    t.ok((await mallory.open()).result);
    const hostileCalls = Array.from({ length: HOSTILE_CALLS }, (_, id) =>
      mallory.post('tools/call', { name: 'hostile-t' }, id),
    );
    t.ok((await alice.open()).result, 'a session begins beside it');
    await callInTurn(t, alice);
    const hasGood = async (): Promise<boolean> => {
      const { result } = await alice.list();
      return (result?.['tools'] as { name: string }[]).some(({ name }) => name === 'good-x');
    };
    // On a busy machine the good backend, too, may have been late.
    await until(hasGood, 'a list that has the tools of the other');
    await callInTurn(t, alice);
    for (const { sessionId, caller } of [mallory, alice].map((caller) => ({ caller, sessionId: caller.sessionId }))) {
      caller.request({ method: 'DELETE', sessionId, body: Buffer.alloc(0) });
    }
    await until(
      () => hostileCalls.every(({ outcome }) => outcome !== 'none' && outcome !== 'streaming'),
      'an answer to every call of the hostile one, by the end of its session at the latest',
    );
  });
}

/** Makes several calls at once, each of which must get its own answer. */
async function callInTurn(
  t: { strictSame(one: unknown, other: unknown): unknown },
  caller: WiredCaller,
): Promise<void> {
  const calls = Array.from({ length: GOOD_CALLS }, (_, n) => caller.call('good-x', { n }, n));
  const answers = await Promise.all(calls);
  t.strictSame(
    answers.map(({ id, result }) => [id, result?.['structuredContent']]),
    answers.map((_, n) => [n, { n }]),
  );
}
