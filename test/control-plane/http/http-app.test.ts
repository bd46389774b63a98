// Conditions that a running control plane is hard to bring into: faults of its parts, and limits that take too long to reach.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import {
  ControlPlaneFault,
  faultAnswers,
  type FaultCode,
} from '../../../src/control-plane/common/control-plane-fault.js';
import { type HttpApp, type HttpAppParts } from '../../../src/control-plane/http/http-app.js';
import type { ConsentFlow } from '../../../src/control-plane/connect/consent-flow.js';
import { RequestIds } from '../../../src/edge/request-head.js';
import { HostPolicy } from '../../../src/shared/host-policy.js';
import { Overload, overloadBounds } from '../../../src/fair/overload.js';
import { AccessLog } from '../../../src/observation/access-log.js';
import { RecordStoreFault } from '../../../src/store/record-store.js';
import { tokenOptions } from '../../auth/token-options.js';
import { subjectHash } from '../../../src/shared/logger.js';
import { createKeyPair } from '../../support/keys.js';
import { logInto } from '../../support/log-lines.js';
import { until } from '../../support/until.js';
import { mint } from '../../support/tokens.js';
import { openApp } from './app.js';

const key = createKeyPair(t);
const authorization = `Bearer ${await mint({ sub: 's', key: key.privateKey, algorithm: key.algorithm })}`;
const tokens = new TokenVerifier(tokenOptions({ publicKey: key.publicKeyPem }));

interface Stage {
  readonly app: HttpApp;
  readonly lines: readonly string[];
  /** Lines of the access log. */
  readonly requestLines: readonly string[];
}

/** An app whose registry and compositions always fail. @param error or an object whose `fault` is thrown. */
async function setStage(
  t: Test,
  error: unknown,
  overrides: Partial<HttpAppParts & { isOfAll: boolean }> = {},
): Promise<Stage> {
  const lines: string[] = [];
  const requestLines: string[] = [];
  const fail = async (): Promise<never> => {
    throw error instanceof Object && 'fault' in error ? error.fault : error;
  };
  const app = await openApp(t, {
    records: { kind: 'embedded', ping: async () => true },
    registry: {
      list: fail,
      find: fail,
      preview: fail,
      register: fail,
      replace: fail,
      remove: fail,
      refresh: fail,
      ...{ listJson: fail, health: fail },
      count: fail,
    },
    compositions: { list: fail, find: fail, create: fail, replace: fail, remove: fail, countUnpublished: fail },
    tokenVerifier: tokens,
    bodyBytesMax: 1_024,
    accessLog: new AccessLog(logInto(requestLines), overrides.isOfAll === true),
    logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
    ...overrides,
  });
  return { app, lines, requestLines };
}

async function answerOf({ app }: Stage, method: 'GET' | 'POST' | 'DELETE', url: string): Promise<[number, unknown]> {
  const answer = await app.inject({ method, url, headers: { authorization, host: 'localhost' } });
  return [answer.statusCode, answer.json()];
}

t.test('each fault has its status and keeps its message', async (t) => {
  const statuses: Readonly<Record<FaultCode, number>> = {
    invalid: 422,
    'not-found': 404,
    'not-owned': 403,
    'name-taken': 409,
    'prefix-taken': 409,
    'refresh-running': 409,
    'registry-full': 409,
    'compositions-full': 409,
    'changed-meanwhile': 412,
    'consent-unknown': 400,
    'consent-over': 410,
    'consents-full': 429,
    'consent-refused': 403,
    'consent-unready': 503,
    'party-unfit': 502,
    'party-silent': 504,
    'sign-in-refused': 403,
    'sign-in-unreadable': 422,
    'sign-in-failed': 503,
    'sign-ins-full': 503,
    'dataplane-unnamed': 404,
    'dataplane-unreachable': 503,
    'dataplane-busy': 503,
    'dataplane-refused': 503,
    'live-full': 503,
    'store-failed': 503,
    'internal-error': 500,
    'body-too-large': 413,
    'path-too-long': 414,
    'path-unknown': 404,
    'method-not-allowed': 405,
    'head-ambiguous': 400,
    'rate-limited': 429,
    'role-missing': 403,
  };
  t.same(Object.keys(statuses), Object.keys(faultAnswers));
  const thrown: { fault?: ControlPlaneFault } = {};
  const stage = await setStage(t, thrown);
  for (const [code, status] of Object.entries(statuses)) {
    thrown.fault = new ControlPlaneFault(code as FaultCode, `words of ${code}`);
    t.same(await answerOf(stage, 'POST', '/servers/x/refresh'), [status, { detail: `words of ${code}` }]);
    t.same(await answerOf(stage, 'DELETE', '/compositions/x'), [status, { detail: `words of ${code}` }]);
    t.same(stage.lines, [], 'a refusal is no fault of ours');
  }
});

t.test('the preflight of an allowed page is answered without a token, and of no other', async (t) => {
  const origin = 'https://console.example';
  const hosts = new HostPolicy({ listenHost: '127.0.0.1', allowedHosts: [], allowedOrigins: [origin] });
  const { app } = await setStage(t, new ControlPlaneFault('not-found', 'gone'), { hosts: hosts });
  const ask = async (from: string) =>
    app.inject({ method: 'OPTIONS', url: '/servers', headers: { host: 'localhost', origin: from } });
  const answer = await ask(origin);
  t.equal(answer.statusCode, 204);
  t.equal(answer.headers['access-control-allow-origin'], origin);
  t.match(answer.headers['access-control-allow-methods'], /PATCH/);
  t.equal((await ask('https://elsewhere.example')).statusCode, 403);
});

t.test('the form of a consent page hands over its ticket', async (t) => {
  const begun: string[][] = [];
  const start = async (...words: string[]): Promise<string> => (begun.push(words), 'https://idp.example/authorize?a=b');
  const connect = { isTls: true, start } as unknown as ConsentFlow;
  const { app } = await setStage(t, new ControlPlaneFault('not-found', 'gone'), { consentFlow: connect });
  const headers = { host: 'localhost', 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await app.inject({ method: 'POST', url: '/connect/files', headers, payload: 'ticket=a.b%2Bc' });
  t.equal(answer.statusCode, 200);
  t.match(answer.payload, 'https://idp.example/authorize?a=b');
  t.match(begun, [['files', 'a.b+c', /^[\w-]{43}$/]]);
});

t.test('an MCP endpoint takes POST, GET and DELETE alone', async (t) => {
  const { app } = await setStage(t, new ControlPlaneFault('not-found', 'gone'));
  for (const url of ['/mcp', '/servers/x/mcp'])
    for (const method of ['PUT', 'PATCH', 'HEAD'] as const) {
      const answer = await app.inject({ method, url, headers: { authorization, host: 'localhost' } });
      t.equal(answer.statusCode, 405, `${method} ${url}`);
      t.equal(answer.headers.allow, 'GET, POST, DELETE');
    }
});

t.test('a fault of the store is 503 and discloses nothing about it, except in the log', async (t) => {
  const stage = await setStage(t, new RecordStoreFault('connect ECONNREFUSED 10.0.0.7:6379'));
  t.same(await answerOf(stage, 'GET', '/servers'), [503, { detail: 'The store cannot be reached: try again' }]);
  await until(() => stage.requestLines.length > 0, 'the line of the request');
  t.match(stage.requestLines.join(''), /"fault":"store-failed","cause":"connect ECONNREFUSED 10\.0\.0\.7:6379"/);
});

t.test('an overloaded control plane refuses requests that would add to its load', async (t) => {
  const overload = new Overload(logInto([]));
  const stage = await setStage(t, new ControlPlaneFault('not-found', 'gone'), { overload });
  const status = async (method: 'GET' | 'POST' | 'DELETE', url: string): Promise<number> => {
    const [found] = await answerOf(stage, method, url);
    return found;
  };
  const calm = { residentPercent: 0, heapPercent: 0, loopDelayMs: 0 };
  overload.observe({ ...calm, residentPercent: overloadBounds.residentPercentPressed });
  t.equal(await status('GET', '/servers'), 404, 'short of memory, it opens no sessions; all else goes on');
  t.equal(await status('GET', '/health'), 200);
  overload.observe({ ...calm, residentPercent: overloadBounds.residentPercentHardPressed });
  for (const [method, url] of [
    ['GET', '/servers'],
    ['POST', '/servers/x/refresh'],
    ['POST', '/mcp'],
  ] as const) {
    const answer = await stage.app.inject({ method, url, headers: { authorization, host: 'localhost' } });
    t.equal(answer.statusCode, 503, url);
    t.equal(answer.headers['retry-after'], '5');
    t.same(answer.json(), { detail: 'Overloaded: no new requests for now' });
  }
  t.equal((await stage.app.inject({ method: 'GET', url: '/servers', headers: { host: 'localhost' } })).statusCode, 401);
  t.equal(await status('DELETE', '/compositions/x'), 404, 'it makes room');
  t.same(await answerOf(stage, 'GET', '/health'), [503, { status: 'unhealthy' }]);
  t.equal(await status('GET', '/openapi.json'), 200);
  overload.observe(calm);
  t.equal(await status('GET', '/servers'), 404, 'and back');
});

t.test('an unexpected error is 500, and its details are for the log alone', async (t) => {
  for (const error of [
    new Error('secret words'),
    Object.assign(new Error('secret words'), { statusCode: 404 }),
    'secret words',
  ]) {
    const stage = await setStage(t, error);
    t.same(await answerOf(stage, 'GET', '/servers'), [500, { detail: 'Internal error: see the log' }]);
    t.equal(stage.lines.length, 1);
    t.match(JSON.parse(stage.lines[0] ?? ''), { level: 50, route: '/servers', msg: 'request failed' });
    t.match(stage.lines[0], /secret words/);
  }
});

t.test('invalid members are named by their path, and endless names are cut', async (t) => {
  const stage = await setStage(t, new Error('never reached'));
  const detailFor = async (payload: object): Promise<string> => {
    const headers = { authorization, host: 'localhost' };
    const answer = await stage.app.inject({ method: 'POST', url: '/compositions', headers, payload });
    t.equal(answer.statusCode, 422);
    return answer.json<{ detail: string }>().detail;
  };
  const good = { name: 'a', servers: [] };
  t.equal(await detailFor({ ...good, 'a/b~c': 1 }), 'a/b~c is not a known member: remove it or correct its name');
  t.equal(await detailFor({ ...good, servers: [{ name: 'x', tools: [1] }] }), 'servers.0.tools.0 must be a string');
  t.equal(
    (await detailFor({ ...good, ['x'.repeat(500)]: 1 })).length,
    128 + ' is not a known member: remove it or correct its name'.length,
  );
  t.same(stage.lines, []);
});

t.test('the id that a trusted caller gives its request is kept', async (t) => {
  const { app } = await setStage(t, new ControlPlaneFault('not-found', 'gone'), {
    requestIds: new RequestIds('trust'),
  });
  const idOf = async (given: string): Promise<unknown> => {
    const headers = { host: 'localhost', 'x-request-id': given };
    return (await app.inject({ method: 'GET', url: '/health', headers })).headers['x-request-id'];
  };
  t.equal(await idOf('of-the-proxy'), 'of-the-proxy');
  t.match(await idOf(''), /^[0-9a-f]{12}-1$/);
});

t.test('each request has an id and a log line with its outcome', async (t) => {
  const stage = await setStage(t, new ControlPlaneFault('name-taken', 'taken'), { isOfAll: true });
  const lineOf = async (request: {
    method: 'GET' | 'POST';
    url: string;
    token?: string;
    host?: string;
  }): Promise<unknown> => {
    const { method, url, token = authorization, host = 'localhost' } = request;
    const answer = await stage.app.inject({ method, url, headers: { authorization: token, host } });
    const line = JSON.parse(stage.requestLines.at(-1) ?? '{}') as Readonly<Record<string, unknown>>;
    t.type(line['durationMs'], 'number');
    t.equal(line['status'], answer.statusCode);
    t.ok(line['requestId'] !== '' && line['requestId'] === answer.headers['x-request-id'], 'the id is in the answer');
    return line;
  };
  t.match(await lineOf({ method: 'GET', url: '/health' }), { outcome: 'ok', status: 200, route: '/health' });
  const unauthorized = await lineOf({ method: 'GET', url: '/servers', token: 'Bearer a.b' });
  t.match(unauthorized, { outcome: 'refused', refusal: 'token-invalid', cause: 'not-a-jwt', subject: '' });
  t.match(await lineOf({ method: 'GET', url: '/nowhere' }), { outcome: 'refused', refusal: 'path-unknown' });
  const elsewhere = await lineOf({ method: 'GET', url: '/health', host: 'evil.example' });
  t.match(elsewhere, { outcome: 'refused', refusal: 'host-refused', host: 'evil.example' });
  const taken = await lineOf({ method: 'POST', url: '/servers/x/refresh' });
  t.match(taken, { outcome: 'error', error: 'name-taken', status: 409, server: 'x', subject: subjectHash('s') });
  const failing = await setStage(t, new Error('boom'));
  await answerOf(failing, 'GET', '/servers');
  await answerOf(failing, 'POST', '/servers/x/refresh');
  t.equal(failing.requestLines.length, 1, 'the first of a kind alone, unless all are wanted');
  const line: unknown = JSON.parse(failing.requestLines[0] ?? '{}');
  t.match(line, { level: 40, msg: 'request not served', outcome: 'fault', fault: 'internal-error', status: 500 });
});
