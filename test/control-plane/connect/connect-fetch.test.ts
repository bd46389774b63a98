// Requests to parties that take part in a consent: where they may go, how much of an answer is read, and what is told of a failure.
import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { unusableResponse } from '../../../src/control-plane/connect/connect-fetch.js';
import { upstreamFault, type UpstreamFaultKind } from '../../../src/http-client/upstream-fault.js';
import { limits } from '../../../src/shared/limits.js';
import { fetchVia, scriptedHttp } from './scripted-http.js';

const URL_ASKED = new URL('http://b.example/a/b?c=d');

async function faultOf(action: () => unknown): Promise<string> {
  try {
    await action();
    return 'none';
  } catch (error) {
    if (error instanceof ControlPlaneFault) return `${error.code}: ${error.message}`;
    throw error;
  }
}

t.test('a request goes out as the OAuth library means it, in the turn of its subject', async (t) => {
  const http = scriptedHttp(() => ({ status: 201, body: { a: 1 } }));
  const request = { method: 'POST', headers: { 'x-a': 'b' }, body: new URLSearchParams({ c: 'd' }) };
  const answer = await fetchVia(http).fetch(URL_ASKED, request);
  t.same([answer.status, await answer.json()], [201, { a: 1 }]);
  t.match(http.asked, [{ subject: 'alice', method: 'POST', url: URL_ASKED.href, headers: ['x-a', 'b'], text: 'c=d' }]);
  await fetchVia(http).fetch(URL_ASKED.href);
  t.match(http.asked[1], { method: 'GET', url: URL_ASKED.href, headers: { length: 0 }, text: '' });
});

t.test('no request goes to an address that is not allowed', async (t) => {
  const http = scriptedHttp(() => ({}));
  const NOT_ALLOWED = 'party-unfit: A server names an address that is not allowed.';
  const rows: readonly (readonly [url: string, mode: 'tls-only' | 'plain-text-or-tls', words: string])[] = [
    ['http://b.example', 'plain-text-or-tls', 'none'],
    ['https://b.example', 'tls-only', 'none'],
    [
      'http://b.example',
      'tls-only',
      'party-unfit: A server names an http address, which needs --upstream-connection-mode plain-text-or-tls.',
    ],
    ['ftp://b.example', 'plain-text-or-tls', 'party-unfit: A server names an address that is not http or https.'],
    ['httpss://b.example', 'plain-text-or-tls', 'party-unfit: A server names an address that is not http or https.'],
    ['http://169.254.169.254', 'plain-text-or-tls', NOT_ALLOWED],
    ['https://169.254.169.254', 'tls-only', NOT_ALLOWED],
  ];
  for (const [url, mode, words] of rows) {
    http.asked.length = 0;
    t.equal(await faultOf(() => fetchVia(http, { mode }).fetch(url)), words, url);
    t.equal(http.asked.length, words === 'none' ? 1 : 0);
  }
});

t.test('an answer is read to a bound', async (t) => {
  const http = scriptedHttp(({ target }) => ({
    body: 'x'.repeat(limits.authorizationAnswerBytesMax + Number(target.path.slice(1))),
  }));
  const length = async (more: number): Promise<unknown> =>
    (await (await fetchVia(http).fetch(`http://b.example/${more}`)).text()).length;
  t.equal(await length(0), limits.authorizationAnswerBytesMax);
  t.equal(await faultOf(() => length(1)), 'party-unfit: A server’s response is too large.');
  t.equal(http.aborted, 1);
});

t.test('a party that does not answer is told from one whose answer cannot be used', async (t) => {
  const rows: readonly (readonly [kind: UpstreamFaultKind, words: string])[] = [
    ['answer-timeout', 'party-silent: A server did not answer in time: try again later.'],
    ['connect-timeout', 'party-silent: A server did not answer in time: try again later.'],
    ['address-refused', 'party-unfit: A server names an address that is not allowed.'],
    ['address-not-allowed', 'party-unfit: A server names an address that is not allowed.'],
    ['answer-too-large', 'party-unfit: A server’s response is too large.'],
    ['answer-invalid', 'party-unfit: A server’s response is not valid HTTP.'],
    ['answer-encoded', 'party-unfit: A server’s response is compressed, which was not asked for.'],
    ['connect-failed', 'party-unfit: A server cannot be reached: try again later.'],
  ];
  for (const [kind, words] of rows) {
    const http = scriptedHttp(() => ({ fault: upstreamFault(kind) }));
    t.equal(await faultOf(() => fetchVia(http).fetch(URL_ASKED)), words, kind);
    if (kind !== 'answer-encoded')
      t.equal(await faultOf(() => fetchVia(http).fetchReadable(URL_ASKED, {})), words, kind);
  }
  const silent = scriptedHttp(() => 'silence');
  t.match(
    await faultOf(() => fetchVia(silent, {}, 1).fetch(URL_ASKED)),
    /^party-silent/,
    'one deadline for all of a step',
  );
  t.equal(unusableResponse('w', 'answer-encoded').cause, 'answer-encoded');
});

t.test('what cannot be read is no answer, where none is needed', async (t) => {
  const encoded = scriptedHttp(() => ({ fault: upstreamFault('answer-encoded') }));
  t.equal(await fetchVia(encoded).fetchReadable(URL_ASKED, {}), undefined);
  t.equal(await fetchVia(encoded).fetchObject(URL_ASKED), undefined);
  await t.rejects(
    fetchVia(
      scriptedHttp(() => {
        throw new Error('never asked');
      }),
    ).fetchReadable(new URL('ftp://b.example'), {}),
    { message: /not http or https/ },
  );
});

t.test('metadata is a JSON object that is there', async (t) => {
  const objectOf = async (status: number, body: string): Promise<unknown> => {
    const http = scriptedHttp(() => ({ status, body }));
    const found = await fetchVia(http).fetchObject(URL_ASKED);
    t.match(http.asked, [{ method: 'GET', headers: ['accept', 'application/json'] }]);
    return found;
  };
  t.same(await objectOf(200, '{"a":1}'), { a: 1 });
  for (const [status, body] of [
    [201, '{"a":1}'],
    [404, '{"a":1}'],
    [200, '[1]'],
    [200, 'a'],
    [200, ''],
  ] as const)
    t.equal(await objectOf(status, body), undefined, `${status} ${body}`);
});
