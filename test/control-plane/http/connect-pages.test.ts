// The pages at which a browser connects a server: what they show, what they hand over to the flow, and what browsers may do with them. The
// flow itself is a stand-in.
import { createHash } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import type { ConsentFlow, ConsentPreview } from '../../../src/control-plane/connect/consent-flow.js';
import { limits } from '../../../src/shared/limits.js';
import { openApp, NOTHING_KEPT, type Sent } from './app.js';

const BROWSER = 'b'.repeat(43);
const ONWARD = 'https://idp.example/authorize?a=b&c=d';

function previewOf(ticket: Partial<ConsentPreview['ticket']>, found: Partial<ConsentPreview> = {}): ConsentPreview {
  return {
    ticket: {
      ...{ subject: 'alice', backendName: 'files', origin: 'https://files.example', path: '/mcp' },
      ...{ auth: { type: 'oauth2-user' }, id: 'i', expiresAtMs: 0, ...ticket },
    },
    server: {
      ...{ issuer: 'https://issuer.example/tenant', token_endpoint: 'https://idp.example/token' },
      authorization_endpoint: 'https://idp.example:8443/authorize',
    },
    ...{ resource: 'https://files.example/mcp', scope: 'read write', ...found },
  };
}

interface Scene {
  /** What the flow was asked. */
  readonly asked: unknown[][];
  readonly send: (method: 'GET' | 'POST', url: string, sent?: Sent) => Promise<LightMyRequestResponse>;
  /** Text of the element with this id. */
  readonly shown: (page: string, id: string) => string | undefined;
}

async function scene(
  t: Test,
  flow: { isTls?: boolean; preview?: ConsentPreview; connected?: string; fault?: Error } = {},
) {
  const asked: unknown[][] = [];
  const { isTls = true, preview = previewOf({}), connected = 'files', fault } = flow;
  const answer = async <Value>(value: Value, ...words: unknown[]): Promise<Value> => {
    asked.push(words);
    if (fault !== undefined) throw fault;
    return value;
  };
  const connect = {
    isTls,
    preview: async (...words: unknown[]) => answer(preview, 'preview', ...words),
    start: async (...words: unknown[]) => answer(ONWARD, 'start', ...words),
    complete: async (query: URLSearchParams, browser: string) => answer(connected, 'complete', String(query), browser),
  } as unknown as ConsentFlow;
  const app = await openApp(t, { ...NOTHING_KEPT, consentFlow: connect });
  const send: Scene['send'] = async (method, url, { headers = {}, payload } = {}) =>
    app.inject({ method, url, headers: { host: 'localhost', ...headers }, ...(payload !== undefined && { payload }) });
  const shown: Scene['shown'] = (page, id) => new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1];
  return { asked, send, shown };
}

t.test('a person sees in whose name, for what and where the consent is asked', async (t) => {
  const { asked, send, shown } = await scene(t);
  const { payload, statusCode } = await send('GET', '/connect/files?ticket=a.b');
  t.equal(statusCode, 200);
  t.same(asked, [['preview', 'files', 'a.b']]);
  t.match(payload, '<h1>Connect files</h1>');
  const ids = ['subject', 'server', 'scope', 'resource', 'issuer'];
  t.same(
    ids.map((id) => shown(payload, id)),
    ['alice', 'https://files.example/mcp', 'read write', 'https://files.example/mcp', 'https://issuer.example/tenant'],
  );
  t.match(payload, 'name="ticket" value="a.b"', 'the form hands the ticket on');
  t.match(payload, 'Go on at idp.example:8443');
});

t.test('what is not named is explained, and names cannot pretend to be others', async (t) => {
  const unnamed = previewOf({ subject: '' }, { scope: '', resource: '' });
  const { send, shown } = await scene(t, { preview: unnamed });
  const { payload } = await send('GET', '/connect/files?ticket=a');
  t.match(shown(payload, 'subject'), /^the control plane itself/);
  t.match(shown(payload, 'scope'), /^the default access/);
  t.match(shown(payload, 'resource'), /^whatever the authorization server decides/);
  const odd = await scene(t, { preview: previewOf({ subject: 'a\u202elice<b>', backendName: 'fi\u0000les' }) });
  const page = (await odd.send('GET', '/connect/files?ticket=a')).payload;
  t.equal(odd.shown(page, 'subject'), 'a\ufffdlice&lt;b&gt;');
  t.match(page, '<h1>Connect fi\ufffdles</h1>');
});

t.test('a consent that begins binds its browser by a cookie that only these pages get', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [isTls, secure] of [
    [true, '; Secure'],
    [false, ''],
  ] as const) {
    const { asked, send } = await scene(t, { isTls });
    const answer = await send('POST', '/connect/a%2Fb', { headers, payload: 'ticket=a.b%2Bc' });
    t.equal(answer.statusCode, 200);
    t.match(asked, [['start', 'a/b', 'a.b+c', /^[\w-]{43}$/]]);
    const attributes = `Path=/connect; Max-Age=${limits.personMsMax / 1_000}; HttpOnly; SameSite=Lax${secure}`;
    t.equal(answer.headers['set-cookie'], `switchyard-connect=${String(asked[0]?.[3])}; ${attributes}`);
    t.match(answer.payload, '<a id="onward" href="https://idp.example/authorize?a=b&amp;c=d">Go on at idp.example</a>');
    t.match(answer.payload, 'http-equiv="refresh" content="0; url=https://idp.example/authorize?a=b&amp;c=d"');
  }
  const { asked, send } = await scene(t);
  for (const cookie of [`other=x; switchyard-connect=${BROWSER}`, `switchyard-connect=${BROWSER}x`, `other=${BROWSER}`])
    await send('POST', '/connect/files', { headers: { ...headers, cookie }, payload: 'x=y' });
  t.same([asked[0]?.[2], asked[0]?.[3]], ['', BROWSER], 'a browser keeps its secret');
  for (const [, , , secret] of asked.slice(1)) {
    t.match(secret, /^[\w-]{43}$/);
    t.not(secret, BROWSER, 'and what is none is replaced');
  }
});

t.test('a browser that comes back gets to know what came of it', async (t) => {
  const { asked, send, shown } = await scene(t);
  const headers = { cookie: `switchyard-connect=${BROWSER}` };
  const { payload } = await send('GET', '/connect/callback?code=c&state=s', { headers });
  t.same(asked, [['complete', 'code=c&state=s', BROWSER]]);
  t.match(payload, '<h1>Connected files</h1>');
  t.match(shown(payload, 'outcome'), /^You can close this window/);
  const stranger = await scene(t);
  await stranger.send('GET', '/connect/callback');
  t.same(stranger.asked, [['complete', '', '']], 'without a cookie and a query');
  const named = await scene(t);
  await named.send('GET', '/connect/callback?ticket=t');
  t.same(named.asked, [['preview', 'callback', 't']], 'a server of that name has its page there');
});

t.test('a refusal is a page with its words and its status, and anything else is no page', async (t) => {
  const refusing = await scene(t, { fault: new ControlPlaneFault('consent-over', 'This link has <expired>.') });
  for (const [method, url] of [
    ['GET', '/connect/files?ticket=a&ticket=b'],
    ['POST', '/connect/files'],
    ['GET', '/connect/callback'],
  ] as const) {
    const answer = await refusing.send(method, url);
    t.equal(answer.statusCode, 410, url);
    t.match(answer.payload, '<h1>Not connected</h1>');
    t.equal(refusing.shown(answer.payload, 'outcome'), 'This link has &lt;expired&gt;.');
    t.equal(answer.headers['set-cookie'], undefined);
  }
  t.same(refusing.asked[0], ['preview', 'files', ''], 'two tickets are none');
  t.same(refusing.asked[1]?.slice(0, 3), ['start', 'files', '']);
  const failing = await scene(t, { fault: new Error('secret words') });
  const answer = await failing.send('GET', '/connect/files');
  t.equal(answer.statusCode, 500);
  t.notMatch(answer.payload, /secret words|<h1>/);
});

t.test('the pages run and load nothing, are kept nowhere, and send their address to no other site', async (t) => {
  const { send } = await scene(t);
  const { headers, payload } = await send('GET', '/connect/files?ticket=a');
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(payload) ?? [];
  t.match(style, 'body {');
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
  t.equal(headers['content-security-policy'], policy);
  t.equal(headers['referrer-policy'], 'same-origin');
  t.equal(headers['cache-control'], 'no-store');
  t.equal(headers['content-type'], 'text/html; charset=utf-8');
  t.match(payload, /^<!doctype html>/);
});

t.test('a form that is too long is refused, and so is one of another kind', async (t) => {
  const { asked, send } = await scene(t);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const payload = `ticket=${'x'.repeat(2 * limits.connectTicketCharsMax)}`;
  t.equal((await send('POST', '/connect/files', { headers, payload })).statusCode, 413);
  t.equal(
    (await send('POST', '/connect/files', { headers: { 'content-type': 'text/plain' }, payload: 'a' })).statusCode,
    415,
  );
  t.same(asked, []);
});
