// Clients find out where to get a token (RFC 9728): checked with the functions of a real client, on both planes.
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { checkResourceAllowed } from '@modelcontextprotocol/sdk/shared/auth-utils.js';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startControlPlane } from '../support/control-plane.js';
import { startGateway, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const IDP = 'https://idp.example/realms/one';
const options = ['--authorization-servers', IDP];

/** Checks that every request without a token is told where to get one. */
async function checkDiscovery(t: Test, url: string): Promise<void> {
  for (const method of ['GET', 'POST', 'DELETE']) {
    const refused = await fetch(url, { method });
    t.equal(refused.status, 401, method);
    const { resourceMetadataUrl, error } = extractWWWAuthenticateParams(refused);
    t.equal(error, undefined, 'there was no token to be wrong');
    const found = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl: resourceMetadataUrl ?? '' });
    t.strictSame(found.authorization_servers, [IDP]);
    t.equal(found.resource, url.replace(/\/$/, ''));
    t.ok(
      checkResourceAllowed({ requestedResource: url, configuredResource: found.resource }),
      'clients take it for theirs',
    );
    t.strictSame(await discoverOAuthProtectedResourceMetadata(url), found, 'or without a word, at the same place');
  }
  const invalid = await fetch(url, { headers: { authorization: 'Bearer x.y.z' } });
  t.match(extractWWWAuthenticateParams(invalid), { error: 'invalid_token', resourceMetadataUrl: URL });
  const { origin, pathname } = new URL(url);
  const root = await fetch(`${origin}/.well-known/oauth-protected-resource`);
  t.match(await root.json(), { resource: origin, authorization_servers: [IDP] });

  const metadata = `/.well-known/oauth-protected-resource${pathname}`;
  const headers = [
    ['origin', 'https://any.example'],
    ['access-control-request-method', 'GET'],
  ] as const;
  const preflight = await send(origin, { method: 'OPTIONS', path: metadata, headers });
  t.equal(preflight.status, 204, 'a page of any origin');
  t.match(preflight.header('access-control-allow-headers'), /mcp-protocol-version/);
  const read = await send(origin, { method: 'GET', path: metadata, headers });
  t.equal(read.status, 200);
  t.equal(read.header('access-control-allow-origin'), '*');
  const rebound = await send(origin, { method: 'GET', path: metadata, headers: [['host', 'evil.example']] });
  t.equal(rebound.status, 403, 'a host of its own choice');
}

t.test('the dataplane', async (t) => {
  const storeOptions = { kind: 'embedded', path: join(createScratchDirectory(t), 'store') } as const;
  const gateway = await startGateway(t, { storeOptions, keyOptions: verifyWith(createKeyPair(t)), options });
  await checkDiscovery(t, gateway.url('a b"c'));
  await checkDiscovery(t, `${gateway.url('v')}/`);
  const other = await send(gateway.origin, { method: 'PATCH', path: gateway.path('v'), headers: [] });
  t.equal(other.status, 401);
  t.match(other.header('www-authenticate'), /resource_metadata="http/);
  t.equal(gateway.errorOutput, '');
});

t.test('the control plane', async (t) => {
  const controlPlane = await startControlPlane(t, { options });
  for (const end of ['', '/']) await checkDiscovery(t, `${controlPlane.origin}/mcp${end}`);
  await checkDiscovery(t, `${controlPlane.origin}/servers/some-composition/mcp`);
  const refused = await fetch(`${controlPlane.origin}/servers`);
  t.match(refused.headers.get('www-authenticate'), /resource_metadata="[^"]*\/oauth-protected-resource"$/);
});
