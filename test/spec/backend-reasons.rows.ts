// Why a backend cannot be used, in words that help: a backend that speaks only a later MCP is named as such, one that redirects
// says what kind of place it redirects to, and neither reveals an address.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import { rpc } from '../support/mcp-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';

interface Unavailable {
  readonly _meta?: { readonly 'switchyard/unavailable'?: readonly { readonly reason: string }[] };
}

const LATER = '"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}';

await forEachDeployment(t, {}, async (t, deployment) => {
  /** The reason in the result of `initialize`; the list and a call's error contain the same one. */
  const reasonOf = async (answer: (request: ReceivedRequest) => void): Promise<string> => {
    const backend = await backendFor(t, { onRequest: (request) => (answer(request), true) });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const { reason } = (rpc(session.opening).result as Unavailable)._meta?.['switchyard/unavailable']?.[0] ?? {
      reason: 'none',
    };
    t.match((rpc(await session.list()).result as Unavailable)._meta, {
      'switchyard/unavailable': [{ backend: 'one', reason }],
    });
    t.equal(rpc(await session.call('one-x')).error?.message, `Backend "one" failed: ${reason}`);
    return reason;
  };

  await t.test(
    'a refusal for now reaches the caller with the words of the backend, and when to try again',
    async (t) => {
      const backend = await backendFor(t, {
        onRequest: (request) => {
          if (!request.text.includes('"tools/call"')) return false;
          request.json('Slow down', { status: 429, headers: { 'content-type': 'text/plain', 'retry-after': '30' } });
          return true;
        },
      });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      const { error } = rpc(await session.call('one-x'));
      t.match(error?.message, /refused with HTTP status 429$/);
      t.same((error as { readonly data?: unknown }).data, { message: 'Slow down', retryAfterSeconds: 30 });
    },
  );

  await t.test('a backend that speaks only 2026-07-28 is named as such, however it says so', async (t) => {
    const errors: Readonly<Record<string, readonly [error: string, reason: string]>> = {
      UnsupportedProtocolVersion: [
        `{"code":-32022,"message":"x",${LATER}}`,
        'speaks only later versions of MCP (2026-07-28)',
      ],
      'of two versions': [
        '{"code":-32022,"message":"x","data":{"supported":["2026-07-28","2027-01-01"]}}',
        'speaks only later versions of MCP (2026-07-28, 2027-01-01)',
      ],
      'a header is missing': ['{"code":-32020,"message":"x"}', 'speaks only later versions of MCP'],
      'invalid params, with versions': [
        `{"code":-32602,"message":"x",${LATER}}`,
        'speaks only later versions of MCP (2026-07-28)',
      ],
      'an older version': [
        '{"code":-32602,"message":"x","data":{"supported":["2023-01-01"]}}',
        'protocol version not supported (2023-01-01)',
      ],
      'no initialize': [
        '{"code":-32601,"message":"Method not found"}',
        'does not support initialize; it may only speak later versions of MCP',
      ],
      'something else': ['{"code":-32603,"message":"out of order"}', 'initialize refused'],
      'versions that are none': [
        '{"code":-32022,"message":"x","data":{"supported":["http://127.0.0.1/?secret",7,"2026-07-28 "]}}',
        'speaks only later versions of MCP',
      ],
    };
    for (const [what, [error, reason]] of Object.entries(errors)) {
      for (const status of [400, 404, 200]) {
        const told = await reasonOf((request) =>
          request.json(`{"jsonrpc":"2.0","id":${memberText(request.text, 'id') ?? 'null'},"error":${error}}`, {
            status,
          }),
        );
        t.equal(told, reason, `${what}, ${status}`);
      }
      for (const id of ['', '"id":null,']) {
        const told = await reasonOf((request) =>
          request.json(`{"jsonrpc":"2.0",${id}"error":${error}}`, { status: 400 }),
        );
        t.equal(told, what === 'something else' ? 'refused with HTTP status 400' : reason, `${what}, without its id`);
      }
    }
  });

  await t.test('an HTTP error without an explanation keeps its status', async (t) => {
    for (const body of ['', 'Bad Request', '{}', '{"jsonrpc":"2.0","error":7}', `{"error":{"code":-32022,${LATER}}}`]) {
      const reason = await reasonOf((request) => request.json(body, { status: 400 }));
      t.equal(reason, 'refused with HTTP status 400', body);
    }
  });

  await t.test(
    'a backend that redirects: the reason says to what kind of place, without address, path, query or secret',
    async (t) => {
      const places: Readonly<Record<string, string>> = {
        '/mcp/': 'the same path with a trailing slash',
        'mcp/?key=s3cret#x': 'the same path with a trailing slash',
        '/mcp//': 'another path of the same server',
        '/mcp?key=s3cret': 'another path of the same server',
        other: 'another path of the same server',
        '/login?return=%2Fmcp&token=s3cret#x': 'another path of the same server',
        '//user:s3cret@elsewhere.example/s3cret': 'another origin',
        'https://elsewhere.example/mcp?key=s3cret': 'another origin',
        'https://127.0.0.1/s3cret/mcp?key=s3cret': 'https',
        'https://user:s3cret@127.0.0.1:8443/mcp': 'https',
        'ftp://127.0.0.1/s3cret': 'another origin',
        [`/${'x'.repeat(2_000)}`]: 'another path of the same server',
      };
      for (const status of [301, 302, 303, 307, 308]) {
        for (const [location, place] of Object.entries(places)) {
          const reason = await reasonOf((request) => request.empty(status, { location }));
          t.equal(reason, `redirects are not followed; it redirects to ${place}`, `${status} ${location}`);
        }
      }
      for (const headers of [{}, { location: '' }, { location: 'http://[' }]) {
        t.equal(await reasonOf((request) => request.empty(302, headers)), 'refused with HTTP status 302');
      }
    },
  );

  await t.test('a redirect of a call in a session that is open', async (t) => {
    let isMoved = false;
    const backend = await backendFor(t, {
      onRequest: (request) => {
        if (isMoved) request.empty(308, { location: `${new URL('/mcp/', backend.url).href}?a=b` });
        return isMoved;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    isMoved = true;
    const { error } = rpc(await session.call('one-echo'));
    t.equal(
      error?.message,
      'Backend "one" failed: redirects are not followed; it redirects to the same path with a trailing slash',
    );
  });
});
