// What the holder of a token reads when a control plane calls it invalid without saying why.
import t from 'tap';
import { tokenAdvice } from '../../src/cli/control-plane-connection.js';

const NOW_MS = 1_800_000_000_000;
const NOW_S = NOW_MS / 1_000;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenWith(claims: unknown, header: unknown = { alg: 'RS256' }): string {
  return `${encode(header)}.${encode(claims)}.c2lnbmF0dXJl`;
}

t.test('what can be seen without a key is named; the rest points to the signature', async (t) => {
  const good = { sub: 'alice-secret', exp: NOW_S + 60, iss: 'issuer-secret', aud: 'audience-secret' };
  for (const [token, advice] of [
    ['nonsense-secret', /^it is not a JWT; set SWITCHYARD_TOKEN to one, as minted by `switchyard token`$/],
    ['secret.secret.secret', /^it is not a JWT/],
    [tokenWith('text-secret'), /^it is not a JWT/],
    [tokenWith(good, 1), /^it is not a JWT/],
    [tokenWith({ ...good, sub: '' }), /^it has no subject \(`sub`\); put a new token into SWITCHYARD_TOKEN$/],
    [tokenWith({ ...good, exp: 'soon' }), /^it has no expiry \(`exp`\); put a new token/],
    [tokenWith({ ...good, nbf: NOW_S + 60 }), /^it is not valid yet \(`nbf`\), .*; put a new token/],
    [tokenWith({ ...good, nbf: NOW_S - 60 }), /^most likely its signature does not fit the control plane's key/],
    [tokenWith(good), /issuer or audience \(`iss`, `aud`\); put a token into SWITCHYARD_TOKEN that is signed with/],
  ] as const) {
    const told = tokenAdvice(token, NOW_MS);
    t.match(told, advice);
    t.notMatch(told, /-secret/, 'nothing of the token');
  }
});
