// The steps of a request that need an overloaded worker, a caller that goes away, or a hop: the parts around the pipeline are stand-ins
// that record how they are called.
import { mirrorOfVersion } from '../../src/exchange/transport.js';
import t from 'tap';
import type { Caller, Exchange, ExchangeWatcher } from '../../src/exchange/exchange.js';
import { HostPolicy } from '../../src/shared/host-policy.js';
import { ProtectedResource } from '../../src/edge/edge.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { subjectHash } from '../../src/shared/logger.js';
import { refusals, tokenRefusals, type Refusal } from '../../src/shared/refusals.js';
import { AccessLog } from '../../src/observation/access-log.js';
import { RequestWatch } from '../../src/observation/request-watch.js';
import type { AdmissionOutcome } from '../../src/worker/admission.js';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import type { BodyOutcome } from '../../src/edge/incoming-request.js';
import { wakeScheduler } from '../../src/fair/turn-scheduler.js';
import { RequestScheduler, REQUESTS_UNTIMED_MAX } from '../../src/worker/request-scheduler.js';
import { Pipeline, type PipelineParts } from '../../src/worker/pipeline.js';
import type { HopFailure } from '../../src/worker/hop/call.js';
import type { Hops, RequestsAwaitingOwner } from '../../src/worker/hop/hops.js';
import { mintSessionId } from '../../src/worker/session-id.js';
import { WorkerFigures } from '../../src/worker/worker-figures.js';
import { logInto } from '../support/log-lines.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';

const caller = { subject: 'alice', virtualHost: { id: 'vh', passthroughHeaders: new Set() } } as unknown as Caller;
const admitted: AdmissionOutcome = caller;

interface Scene {
  readonly pipeline: Pipeline;
  readonly lines: string[];
  readonly relayed: Exchange[];
  /** What the load shedder is asked: method, what is wanted, subject. */
  readonly asked: [method: string, wanted: string, subject: string][];
  admission: AdmissionOutcome | Promise<AdmissionOutcome>;
  overloadRefusal: Refusal | undefined;
}

function createScene(changes: Partial<PipelineParts> = {}): Scene {
  const lines: string[] = [];
  const hosts = new HostPolicy({ listenHost: '127.0.0.1', allowedHosts: [], allowedOrigins: [] });
  const scene: Omit<Scene, 'pipeline'> = {
    lines,
    relayed: [],
    asked: [],
    admission: admitted,
    overloadRefusal: undefined,
  };
  const parts = {
    slot: 0,
    slotCount: 1,
    hosts,
    tlsHosts: hosts,
    resource: new ProtectedResource({ publicUrl: undefined, authorizationServers: [] }),
    pathPrefix: '',
    admission: { admit: () => scene.admission, admitSubject: () => scene.admission },
    loadShedder: {
      refusalOf: (...asked: [string, string, string]) => {
        scene.asked.push(asked);
        return scene.overloadRefusal;
      },
    },
    overload: {
      get state(): string {
        return scene.overloadRefusal === undefined ? 'serving' : 'refusing-requests';
      },
    },
    scheduler: new RequestScheduler(createAccounts({ subjectRequestsInFlightMax: 500 })),
    relay: { handle: (_caller: Caller, exchange: Exchange) => scene.relayed.push(exchange) },
    watch: new RequestWatch(new AccessLog(logInto(lines), true), undefined),
    logger: logInto([]),
    ...changes,
  } as unknown as PipelineParts;
  return Object.assign(scene, { pipeline: new Pipeline(parts) });
}

interface ScriptedExchange {
  readonly exchange: EdgeExchange & { isAborted: boolean };
  readonly steps: string[];
  /** Ends the request's body. */
  receive(outcome: BodyOutcome, body?: string): void;
}

/** A POST with a session, and the steps that it went through. */
function createExchange(
  method = 'POST',
  isReceived = false,
  { protocolVersion = '', ...head }: Partial<EdgeExchange['head'] & { protocolVersion: string }> = {},
): ScriptedExchange {
  const steps: string[] = [];
  let onReceived: ((outcome: BodyOutcome) => void) | undefined;
  const request = { method, sessionId: 'session', mirror: mirrorOfVersion(protocolVersion), body: Buffer.alloc(0) };
  const exchange = {
    isTls: false,
    isAborted: false,
    head: {
      virtualHostId: 'vh',
      host: 'localhost',
      origin: '',
      authorization: 'Bearer x',
      contentType: 'application/json',
      accept: 'application/json, text/event-stream',
      isAmbiguous: false,
      contentLength: '100',
      headers: [],
      ...head,
    },
    request,
    incoming: {
      awaitAdmission: () => steps.push('held'),
      admit: (subject: string) => steps.push(`let in for ${subject}`),
      receive: (receiver: (outcome: BodyOutcome) => void) => {
        steps.push('body awaited');
        onReceived = receiver;
        if (isReceived) receiver('complete');
      },
    },
    onAbort: undefined,
    releaseBody: () => undefined,
    watcher: undefined as ExchangeWatcher | undefined,
    reset: () => exchange.watcher?.onDone(0, 0, 'unheard'),
    respond: (status: number, contentType: string, body: string) => {
      const { id } = (contentType === 'application/json' ? JSON.parse(body) : {}) as { id?: unknown };
      steps.push(id === undefined ? `answered ${status}` : `answered ${status} to ${JSON.stringify(id)}`);
    },
  };
  return {
    exchange: exchange as unknown as ScriptedExchange['exchange'],
    steps,
    receive: (outcome, body = '') => {
      request.body = Buffer.from(body);
      onReceived?.(outcome);
    },
  };
}

t.test('the body of an admitted caller is read at once, that of one not yet known is held', async (t) => {
  const scene = createScene();
  const known = createExchange();
  scene.pipeline.onRequest(known.exchange);
  t.same(known.steps, ['let in for alice', 'body awaited']);
  scene.admission = Promise.resolve(admitted);
  const unknown = createExchange();
  scene.pipeline.onRequest(unknown.exchange);
  t.same(unknown.steps, ['held']);
  await scene.admission;
  await Promise.resolve();
  t.same(unknown.steps, ['held', 'let in for alice', 'body awaited']);
});

t.test('the headers that the virtual host passes through go with the request', async (t) => {
  const scene = createScene();
  const virtualHost = { id: 'vh', passthroughHeaders: new Set(['x-tenant']) };
  scene.admission = { subject: 'alice', virtualHost } as unknown as Caller;
  const { exchange } = createExchange('POST', false, { headers: ['x-other', '1', 'x-tenant', '7'] });
  let passed: readonly string[] = [];
  const passes = { admit: (...[, , headers]: [unknown, unknown, string[]]) => (passed = headers) };
  Object.assign(exchange.incoming, passes);
  scene.pipeline.onRequest(exchange);
  t.same(passed, ['x-tenant', '7']);
  for (const head of [{ contentType: 'text/plain' }, { headers: ['x-tenant', 'a\ufffdb'] }]) {
    const refused = createExchange('POST', false, head);
    Object.assign(refused.exchange.incoming, passes);
    scene.pipeline.onRequest(refused.exchange);
    t.same(passed, [], 'none of a request that is refused for its head');
    refused.receive('complete', '{"jsonrpc":"2.0","id":7,"method":"ping"}');
    t.match(refused.steps.at(-1), /^answered 4\d\d to 7$/, JSON.stringify(head));
    passed = ['x'];
  }
  t.same(scene.relayed, []);
});

t.test('a request that has waited for its config goes on in the turn of its subject', async (t) => {
  const turns: string[] = [];
  t.intercept(wakeScheduler, 'run', { value: (subject: string, act: () => void) => (turns.push(subject), act()) });
  const refused: AdmissionOutcome = { refusal: refusals.overloaded };
  for (const outcome of [admitted, { ...refused, subject: 'bob' }, refused]) {
    const scene = createScene();
    scene.admission = Promise.resolve(outcome);
    const { exchange, steps } = createExchange();
    scene.pipeline.onRequest(exchange);
    await until(() => steps.length > 1, 'what becomes of it');
  }
  t.same(turns, ['alice', 'bob', '']);
});

t.test('a caller that goes away before it is known is not asked for anything', async (t) => {
  const scene = createScene();
  scene.admission = Promise.resolve(admitted);
  const { exchange, steps } = createExchange();
  scene.pipeline.onRequest(exchange);
  exchange.isAborted = true;
  await scene.admission;
  await Promise.resolve();
  t.same(steps, ['held']);
});

t.test('a request for another host, or from a page of another origin, goes no further', async (t) => {
  for (const head of [{ host: 'elsewhere.example' }, { origin: 'https://elsewhere.example' }]) {
    let isAsked = false;
    const admission = { admit: () => ((isAsked = true), admitted), refusalOfToken: () => void (isAsked = true) };
    const { pipeline } = createScene({ admission: admission as unknown as PipelineParts['admission'] });
    for (const step of ['onRequest', 'onOtherMethod', 'onPreflight'] as const) {
      const { exchange, steps } = createExchange('POST', true, head);
      pipeline[step](exchange);
      t.same(steps, ['answered 403'], step);
    }
    t.equal(isAsked, false, 'its token is not even looked at');
  }
});

t.test(
  'a caller with a method that there is not is told of its token first, however long that is verified',
  async (t) => {
    for (const refused of [undefined, { refusal: refusals.tokenMissing }]) {
      for (const isLate of [false, true]) {
        const refusalOfToken = (): unknown => (isLate ? Promise.resolve(refused) : refused);
        const { pipeline } = createScene({ admission: { refusalOfToken } as unknown as PipelineParts['admission'] });
        const { exchange, steps } = createExchange('PUT', true);
        pipeline.onOtherMethod(exchange);
        const answer = `answered ${refused?.refusal.status ?? 405}`;
        await until(() => steps.includes(answer), answer);
        t.same(steps, isLate ? ['held', answer] : [answer]);
      }
    }
  },
);

t.test('a page that asks first is told what it may send, and anyone where to get a token', async (t) => {
  const resource = new ProtectedResource({ publicUrl: undefined, authorizationServers: ['https://idp.example'] });
  const { pipeline } = createScene({ resource });
  const answersTo = (head: Partial<EdgeExchange['head']>, act: (exchange: EdgeExchange) => void): unknown[][] => {
    const { exchange } = createExchange('GET', true, head);
    const answers: unknown[][] = [];
    act(Object.assign(exchange, { respond: (...answer: unknown[]) => void answers.push(answer) }));
    return answers;
  };
  const allowed = (headers: readonly string[]): string => {
    const [[status, , , , told] = []] = answersTo({ headers }, (exchange) => pipeline.onPreflight(exchange));
    t.equal(status, 204);
    const lines = told as string[];
    return lines[lines.indexOf('access-control-allow-headers') + 1] ?? '';
  };
  const usual = allowed([]);
  t.match(usual, /^[a-z-]+(, [a-z-]+)*$/);
  t.equal(allowed(['access-control-request-headers', 'x-tenant']), `${usual}, x-tenant`);
  const metadata = (head: object, isPreflight: boolean): unknown[][] =>
    answersTo(head, (exchange) => pipeline.onMetadataRequest(exchange, isPreflight));
  t.match(metadata({}, true), [[204, '', '']]);
  const [[status, type, body] = []] = metadata({}, false);
  t.same([status, type], [200, 'application/json']);
  t.match(JSON.parse(String(body)), {
    resource: 'http://localhost/servers/vh/mcp',
    authorization_servers: ['https://idp.example'],
  });
  const [[, , ofAll] = []] = metadata({ virtualHostId: undefined }, false);
  t.match(JSON.parse(String(ofAll)), { resource: /^http:\/\/localhost\/?$/ });
  t.match(metadata({ origin: 'https://elsewhere.example' }, false), [[200]], 'pages of every origin too');
  t.match(metadata({ host: 'elsewhere.example' }, false), [[403]]);
});

t.test(
  'an endpoint that fails is answered in plain text that says nothing of the error, which is logged',
  async (t) => {
    const lines: string[] = [];
    const { pipeline } = createScene({ logger: logInto(lines) });
    const { exchange } = createExchange('POST', true);
    const answers: unknown[][] = [];
    Object.assign(exchange, { respond: (...answer: unknown[]) => void answers.push(answer) });
    const handle = async (): Promise<never> => Promise.reject(new Error('the disk is of wax'));
    pipeline.onEndpointRequest({ method: 'POST', path: '/user-config', handle }, exchange, 'alice');
    await until(() => answers.length > 0, 'the answer');
    t.same(answers, [[500, 'text/plain', 'Internal error: see the log']]);
    t.match(lines, [/the disk is of wax.*"path":"\/user-config".*endpoint failed/]);
  },
);

t.test('an overloaded worker refuses before it reads a body', async (t) => {
  const scene = createScene();
  scene.overloadRefusal = refusals.overloaded;
  const { exchange, steps } = createExchange();
  scene.pipeline.onRequest(exchange);
  t.same(steps, [`answered ${refusals.overloaded.status}`]);
  t.same(scene.asked, [['POST', 'request', 'alice']]);
  t.match(scene.lines, [/"refusal":"overloaded"/]);
});

t.test('a POST refused for its head is refused under its id, however its body ends', async (t) => {
  const { pipeline, lines } = createScene();
  const message = '{"jsonrpc":"2.0","id":"a","method":"ping"}';
  const long = String(limits.readAtOnceBytesMax + 1);
  for (const [head, status, code] of [
    [{ accept: 'text/html' }, 406, 'not-acceptable'],
    [{ contentType: 'text/plain' }, 415, 'content-type-unsupported'],
    [{ protocolVersion: '1999-01-01' }, 400, 'protocol-version-unsupported'],
  ] as const) {
    const received = ['let in for alice', 'body awaited'];
    const whole = createExchange('POST', false, head);
    pipeline.onRequest(whole.exchange);
    t.same(whole.steps, received);
    whole.receive('complete', message);
    t.same(whole.steps, [...received, `answered ${status} to "a"`]);
    t.match(lines.at(-1), `"refusal":"${code}"`);
    for (const outcome of ['too-large', 'subjectMax', 'totalMax'] as const) {
      const cut = createExchange('POST', false, head);
      pipeline.onRequest(cut.exchange);
      cut.receive(outcome);
      t.same(cut.steps, [...received, `answered ${status}`], outcome);
    }
    for (const unread of [{ isAmbiguous: true }, { contentLength: long }, { contentLength: '' }]) {
      const { exchange, steps } = createExchange('POST', false, { ...head, ...unread });
      pipeline.onRequest(exchange);
      t.same(steps, [`answered ${status}`], Object.keys(unread).join());
    }
  }
  const ambiguous = createExchange('POST', false, { isAmbiguous: true });
  pipeline.onRequest(ambiguous.exchange);
  t.same(ambiguous.steps, ['answered 400']);
  const deleted = createExchange('DELETE', false, { protocolVersion: '1999-01-01' });
  pipeline.onRequest(deleted.exchange);
  t.same(deleted.steps, ['answered 400']);
});

t.test('an overloaded worker reads no body to refuse it', async (t) => {
  const scene = createScene();
  scene.overloadRefusal = refusals.overloaded;
  const { exchange, steps } = createExchange('POST', false, { accept: 'text/html' });
  scene.pipeline.onRequest(exchange);
  t.same(steps, ['answered 406'], 'and says what is wrong with the head, which comes first');
});

t.test('the owner of a session also refuses requests that come by a hop, and logs them', async (t) => {
  const scene = createScene();
  scene.overloadRefusal = refusals.overloaded;
  const { exchange, steps } = createExchange('DELETE');
  scene.pipeline.onHop({ subject: 'alice', virtualHostId: 'vh' }, exchange);
  t.same(steps, [`answered ${refusals.overloaded.status}`]);
  t.same(scene.asked, [['DELETE', 'request', 'alice']]);
  t.match(scene.lines, [
    /"virtualHost":"vh","method":"DELETE","outcome":"refused","refusal":"overloaded","status":503/,
  ]);
  scene.overloadRefusal = undefined;
  scene.pipeline.onHop({ subject: 'alice', virtualHostId: 'vh' }, createExchange().exchange);
  t.equal(scene.relayed.length, 1);
  scene.admission = { refusal: refusals.configMissing };
  const removed = createExchange();
  scene.pipeline.onHop({ subject: 'alice', virtualHostId: 'vh' }, removed.exchange);
  t.same(removed.steps, [`answered ${refusals.configMissing.status}`], 'also when its own config is gone by now');
  t.match(scene.lines.at(-1), `"refusal":"${refusals.configMissing.code}"`);
  t.equal(scene.relayed.length, 1);
});

t.test('what a successor passes back is served here, even by a worker that has left its slot', async (t) => {
  const scene = createScene();
  const identity = { subject: 'alice', virtualHostId: 'vh' };
  scene.pipeline.retire();
  const passedBack = createExchange().exchange;
  scene.pipeline.onSuccessorMessage(identity, passedBack);
  t.equal(scene.relayed.length, 1);
  t.equal(passedBack.request.isFromSuccessor, true, 'known by the channel');
  scene.admission = Promise.resolve(admitted);
  scene.pipeline.onSuccessorMessage(identity, createExchange().exchange);
  await until(() => scene.relayed.length === 2, 'the one whose config had to be read');
  const refused: AdmissionOutcome = { refusal: refusals.overloaded };
  for (scene.admission of [refused, Promise.resolve(refused)]) {
    const { exchange, steps } = createExchange();
    scene.pipeline.onSuccessorMessage(identity, exchange);
    await until(() => steps.length > 0, 'the refusal');
    t.same(steps, [`answered ${refusals.overloaded.status}`]);
  }
  t.equal(scene.relayed.length, 2);
});

t.test('what the edge refuses is answered and logged, and a body that is refused reaches no endpoint', async (t) => {
  const { pipeline, lines } = createScene();
  const unknown = createExchange();
  pipeline.onRefused(unknown.exchange, refusals.pathUnknown);
  t.same(unknown.steps, ['answered 404']);
  t.match(lines, [/"refusal":"path-unknown"/]);
  pipeline.onRefused(createExchange('POST', true, { virtualHostId: undefined }).exchange, refusals.pathUnknown);
  t.match(lines[1], /"virtualHost":""/);
  const endpoint = { method: 'POST', path: '/user-config', handle: async () => t.fail('it was not received') } as const;
  const large = createExchange();
  pipeline.onEndpointRequest(endpoint as never, large.exchange, 'alice');
  large.receive('too-large');
  t.same(large.steps, ['body awaited', 'answered 413']);
  const elsewhere = createExchange('POST', true, { host: 'elsewhere.example' });
  pipeline.onEndpointRequest(endpoint as never, elsewhere.exchange, 'alice');
  t.same(elsewhere.steps, ['answered 403']);
});

t.test('each listener has its own hosts', async (t) => {
  const tlsHosts = new HostPolicy({ listenHost: '0.0.0.0', allowedHosts: ['tls.example'], allowedOrigins: [] });
  const { pipeline } = createScene({ tlsHosts });
  for (const [isTls, host, first] of [
    [true, 'tls.example', 'let in for alice'],
    [true, 'localhost', 'answered 403'],
    [false, 'tls.example', 'answered 403'],
  ] as const) {
    const { exchange, steps } = createExchange('POST', false, { host });
    pipeline.onRequest(Object.assign(exchange, { isTls }));
    t.equal(steps[0], first, `${host} ${isTls}`);
  }
});

t.test('where a token can be had is told to whom one is missing, if that is known, and only then', async (t) => {
  for (const [authorizationServers, refusal, isTold] of [
    [['https://idp.example'], tokenRefusals.missing, true],
    [['https://idp.example'], refusals.overloaded, false],
    [[], tokenRefusals.missing, false],
  ] as const) {
    const resource = new ProtectedResource({ publicUrl: undefined, authorizationServers });
    const scene = createScene({ resource, pathPrefix: '/gw' });
    scene.admission = { refusal };
    const { exchange } = createExchange();
    const answers: unknown[][] = [];
    scene.pipeline.onRequest(Object.assign(exchange, { respond: (...answer: unknown[]) => void answers.push(answer) }));
    t.equal(answers[0]?.[0], refusal.status);
    const told = JSON.stringify(answers);
    t.equal(told.includes('resource_metadata=') && told.includes('/gw/servers/vh/mcp'), isTold);
  }
});

t.test('the gateway is healthy when its primary says so, and the worker can take more', async (t) => {
  const overload: { healthRefusal?: Refusal } = {};
  const { pipeline } = createScene({ overload: overload as PipelineParts['overload'] });
  t.equal(pipeline.healthRefusal?.code, 'not-ready');
  pipeline.isGatewayReady = true;
  t.equal(pipeline.healthRefusal, undefined);
  overload.healthRefusal = refusals.overloaded;
  t.equal(pipeline.healthRefusal, refusals.overloaded);
});

t.test('a request goes to the owner of its session; one without a session is served here', async (t) => {
  const figures = new WorkerFigures();
  const forwarded: unknown[][] = [];
  let failure: HopFailure = 'owner-lost';
  const hops = {
    isClosed: false,
    forward: (...[owner, identity, , onFailure]: Parameters<Hops['forward']>) => {
      forwarded.push([owner, identity]);
      onFailure(failure);
    },
  } as unknown as Hops;
  const scene = createScene({ slot: 1, slotCount: 3, hops, figures });
  for (const sessionId of ['', mintSessionId(1, 3)]) {
    const { exchange } = createExchange('POST', true);
    Object.assign(exchange.request, { sessionId });
    scene.pipeline.onRequest(exchange);
  }
  t.same([scene.relayed.length, forwarded], [2, []]);
  const body = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  for (const [next, answer] of [
    ['owner-absent', '404 to 7'],
    ['owner-lost', '503'],
    ['hop-failed', '500'],
    ['answer-bytes-full', '503'],
  ] as const) {
    failure = next;
    const sent = createExchange();
    Object.assign(sent.exchange.request, { sessionId: mintSessionId(2, 3) });
    scene.pipeline.onRequest(sent.exchange);
    sent.receive('complete', body);
    t.equal(sent.steps.at(-1), `answered ${answer}`, next);
    t.same(forwarded.pop(), [2, { subject: 'alice', virtualHostId: 'vh' }]);
    t.match(scene.lines.at(-1), `"subject":"${subjectHash('alice')}"`);
    t.match(scene.lines.at(-1), /"virtualHost":"vh".*"outcome":"refused"/);
  }
  const failed = figures.failedHops.series().map(({ labels, value }) => `${labels.join()} ${value}`);
  t.same(failed, ['owner-absent 1', 'owner-lost 1', 'hop-failed 1', 'answer-bytes-full 1']);
  t.equal(figures.forwardedHops, 4);
});

t.test(
  'a request for a worker that is known from its body says whether that is absent, or why it failed',
  async (t) => {
    const figures = new WorkerFigures();
    let failure: HopFailure = 'owner-absent';
    const forward = (...[, , , onFailure]: Parameters<Hops['forward']>): void => onFailure(failure);
    const { pipeline } = createScene({ hops: { forward } as unknown as Hops, figures });
    const told: (Refusal | undefined)[] = [];
    for (failure of ['owner-absent', 'hop-failed'] as const)
      pipeline.forwardToSlot(1, caller, createExchange().exchange, (refusal) => told.push(refusal));
    t.same(told, [undefined, refusals.hopFailed]);
    t.same(
      figures.failedHops.series().map(({ labels }) => labels),
      [['owner-absent'], ['hop-failed']],
    );
    const unwatched = createScene({ hops: { forward } as unknown as Hops, watch: undefined }).pipeline;
    unwatched.forwardToSlot(1, caller, createExchange().exchange, (refusal) => told.push(refusal));
    t.equal(told.at(-1), refusals.hopFailed, 'without figures and a log, too');
  },
);

t.test('a hop that is retried counts as failed once: when nobody waits for it any more', async (t) => {
  const figures = new WorkerFigures();
  let waits = 0;
  const { pipeline } = createScene({
    figures,
    hops: {
      isClosed: false,
      forward: (...[, , , onFailure]: Parameters<Hops['forward']>) => onFailure('owner-absent'),
    } as unknown as Hops,
    requestsAwaitingOwner: {
      tryWait: (...[, , again]: Parameters<RequestsAwaitingOwner['tryWait']>) => {
        if (++waits === 20) return false;
        again();
        return true;
      },
    } as unknown as RequestsAwaitingOwner,
  });
  const { exchange, steps } = createExchange();
  pipeline.retire();
  pipeline.onHop({ subject: 'alice', virtualHostId: 'vh' }, exchange);
  t.equal(waits, 20);
  t.same(steps, ['answered 503']);
  t.match(figures.failedHops.series(), [{ labels: ['owner-absent'], value: 1 }]);
});

for (const way of ['from callers', 'by a hop'] as const) {
  t.test(`requests ${way} of which too many come at once have turns, and more than can wait are refused`, async (t) => {
    let nowMs = 0;
    const accounts = createAccounts({ subjectRequestsInFlightMax: 500 });
    const scene = createScene({ scheduler: new RequestScheduler(accounts, () => nowMs) });
    const send = (): ReturnType<typeof createExchange> => {
      const sent = createExchange('POST', true);
      if (way === 'by a hop') scene.pipeline.onHop({ subject: 'alice', virtualHostId: 'vh' }, sent.exchange);
      else scene.pipeline.onRequest(sent.exchange);
      return sent;
    };
    const passing = 2 * REQUESTS_UNTIMED_MAX + 1;
    for (let each = 1; each < passing; each += 1) send();
    nowMs = limits.turnMs;
    send();
    t.equal(scene.relayed.length, passing, 'and a late one');
    const waiting = Array.from({ length: 500 }, send);
    t.equal(scene.relayed.length, passing, 'no more in this turn');
    for (let each = waiting.length; each < perSubject(limits.waitingMax); each += 1) waiting.push(send());
    const tooMany = send();
    t.ok(tooMany.steps.includes('answered 429'));
    t.match(scene.lines.at(-1), /"virtualHost":"vh".*"refusal":"subject-requests-full"/);
    t.match(scene.lines.at(-1), subjectHash('alice'));
    const [gone] = waiting;
    gone?.exchange.onAbort?.();
    t.match(scene.lines.at(-1), /"method":"POST","outcome":"gone"/, 'and the log has a line for it');
    await until(() => scene.relayed.length === passing + waiting.length - 1, 'the others');
    t.notOk(
      scene.relayed.some((exchange) => exchange === gone?.exchange),
      'who went away is asked for nothing',
    );
    t.same(
      scene.relayed.slice(passing),
      waiting.slice(1).map(({ exchange }) => exchange),
      'in their order',
    );
  });
}
