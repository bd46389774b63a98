import t from 'tap';
import { metadataCorsHeaders, ProtectedResource } from '../../src/edge/edge.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';

const authorizationServers = ['https://idp.example/realms/one'];
const trusted = { isTls: false, host: '127.0.0.1:8001', isHostTrusted: true };
const chosen = { isTls: true, host: 'evil.example', isHostTrusted: false };
const path = '/gw-rs/servers/a%22b/mcp';

t.test('the public URL takes precedence over the request’s host', async (t) => {
  const resource = new ProtectedResource({ publicUrl: 'https://gateway.example', authorizationServers });
  for (const origin of [trusted, chosen]) {
    t.strictSame(JSON.parse(resource.metadata(path, origin) ?? ''), {
      resource: `https://gateway.example${path}`,
      authorization_servers: authorizationServers,
      bearer_methods_supported: ['header'],
    });
  }
  t.match(JSON.parse(resource.metadata('', chosen) ?? ''), { resource: 'https://gateway.example' });
});

t.test('without a public URL, only a host that the caller could not choose counts', async (t) => {
  const resource = new ProtectedResource({ publicUrl: undefined, authorizationServers });
  t.match(JSON.parse(resource.metadata(path, trusted) ?? ''), { resource: `http://127.0.0.1:8001${path}` });
  t.match(JSON.parse(resource.metadata(path, { ...trusted, isTls: true }) ?? ''), { resource: /^https:/ });
  t.equal(resource.metadata(path, chosen), undefined);
  t.equal(resource.metadata(path, { ...trusted, host: '' }), undefined);
  t.equal(resource.challenge(refusals.tokenMissing, path, chosen), refusals.tokenMissing);
});

t.test('a challenge names the address of the metadata, and keeps its other parts', async (t) => {
  const resource = new ProtectedResource({ publicUrl: 'https://gateway.example', authorizationServers });
  const challengeOf = (refusal: Refusal = refusals.tokenExpired, at = path): string =>
    resource.challenge(refusal, at, chosen).headers.join(': ');
  t.equal(
    challengeOf(),
    'www-authenticate: Bearer realm="switchyard", error="invalid_token", error_description="The token expired", ' +
      `resource_metadata="https://gateway.example/.well-known/oauth-protected-resource${path}"`,
  );
  t.equal(
    challengeOf(refusals.tokenMissing, ''),
    'www-authenticate: Bearer realm="switchyard", resource_metadata="https://gateway.example/.well-known/oauth-protected-resource"',
  );
  t.equal(resource.challenge(refusals.keysUnavailable, path, trusted), refusals.keysUnavailable, 'which is not 401');
});

t.test('without authorization servers there is no metadata', async (t) => {
  const resource = new ProtectedResource({ publicUrl: 'https://gateway.example', authorizationServers: [] });
  t.equal(resource.metadata(path, trusted), undefined);
  t.equal(resource.challenge(refusals.tokenMissing, path, trusted), refusals.tokenMissing);
});

t.test('pages of any origin may read the metadata, with the headers that their clients send', async (t) => {
  const pairs = metadataCorsHeaders.flatMap((name, index, all) => (index % 2 === 0 ? [[name, all[index + 1]]] : []));
  t.strictSame(Object.fromEntries(pairs), {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'access-control-allow-headers': 'accept, content-type, mcp-protocol-version',
    'access-control-max-age': '86400',
  });
});
