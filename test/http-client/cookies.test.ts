// The cookies of one upstream session: what a backend's `set-cookie` lines leave of them.
import t from 'tap';
import {
  keepsCookies,
  SESSION_COOKIES_BYTES_MAX,
  SESSION_COOKIES_MAX,
  withCookies,
} from '../../src/http-client/cookies.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

const TARGET = { origin: 'https://b.example', path: '/team/mcp?tenant=7' };

t.test('of a line, the name and the value are kept as they are', async (t) => {
  const cases: Readonly<Record<string, string>> = {
    'node=1': 'node=1',
    'AWSALB=Ab+/=; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/; SameSite=None; Secure': 'AWSALB=Ab+/=',
    'SERVERID="a, b" ; Domain=b.example; HttpOnly': 'SERVERID="a, b"',
    'INGRESSCOOKIE=17|x; Max-Age=172800; Path=/team': 'INGRESSCOOKIE=17|x',
    'empty=': 'empty=',
    'a=1; Path=/team/mcp': 'a=1',
    'a=2; path=/team/mcp/': 'a=2',
    'a=3; Path=relative': 'a=3',
    'a=4; Max-Age=soon; Expires=never': 'a=4',
    'a=5; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT': 'a=5',
  };
  for (const [line, cookies] of Object.entries(cases)) t.equal(withCookies('', line, TARGET), cookies, line);
});

t.test('what is no cookie, or is meant for elsewhere, leaves those that are kept', async (t) => {
  const lines = ['', 'word', '=value', 'a b=1', 'a=1; Path=/other', 'a=1; Path=/team/mcp/x', 'a=1; Path=/tea'];
  for (const line of lines) t.equal(withCookies('node=1', line, TARGET), 'node=1', line);
  const plain = { origin: 'http://b.example', path: '/mcp' };
  t.equal(withCookies('', 'a=1; Secure\nb=2', plain), 'b=2', 'a secure cookie is not for plain text');
});

t.test('a cookie is replaced in its place, and removed when it is over', async (t) => {
  const kept = 'node=1; other=x';
  t.equal(withCookies(kept, 'node=2\nthird=y', TARGET), 'node=2; other=x; third=y');
  for (const end of [
    'Max-Age=0',
    'max-age=-1',
    'Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    'expires=Thu, 01-Jan-1970 00:00:01 GMT',
  ])
    t.equal(withCookies(kept, `node=; ${end}`, TARGET), 'other=x', end);
  t.equal(withCookies(kept, 'unknown=; Max-Age=0', TARGET), kept);
  t.equal(withCookies('node=1', 'node=; Max-Age=0', TARGET), '');
});

t.test('cookies are bounded: what is beyond is ignored', async (t) => {
  const lines = Array.from({ length: SESSION_COOKIES_MAX + 2 }, (_, at) => `c${at}=${at}`);
  const kept = withCookies('', lines.join('\n'), TARGET);
  t.equal(kept, lines.slice(0, SESSION_COOKIES_MAX).join('; '));
  t.equal(withCookies(kept, 'c0=new\nc99=x', TARGET), kept.replace('c0=0', 'c0=new'));
  const long = `a=${'x'.repeat(SESSION_COOKIES_BYTES_MAX - 2)}`;
  t.equal(withCookies('', `${long}y`, TARGET), '');
  t.equal(withCookies('', `${long}\nb=1`, TARGET), long);
});

t.test('none are kept where the cookie header is the caller’s or a secret', async (t) => {
  const secret = { type: 'headers', headers: { Cookie: { secret: 'c' } } };
  const other = { type: 'headers', headers: { 'x-key': { secret: 'c' } } };
  const host = virtualHostOf({
    plain: {},
    passed: { passthrough_headers: ['Cookie'] },
    secret: { auth: secret },
    other: { auth: other, passthrough_headers: ['x-tenant'] },
  } as Parameters<typeof virtualHostOf>[0]);
  const keeping = ['plain', 'passed', 'secret', 'other'].filter((name) => keepsCookies(backendOf(host, name)));
  t.same(keeping, ['plain', 'other']);
});
