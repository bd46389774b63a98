// Slips in users' own grants at backends: whose they are, who renews them, and which statements of a backend are trusted.
import { mutantsOf, type Mutant } from '../mutant.js';

const TOKENS = ['upstream/credentials/user-tokens'];
const CONSENT = ['control-plane/connect/connect', 'integration/user-consent'];

export const consentMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/credentials/user-tokens.ts', TOKENS, [
    {
      slip: 'each token that the backend rejects is replaced at once',
      text: 'if (!token.isRefused && nowMs < renewals.replaceableAtMs) return',
      becomes: 'if (!token.isRefused && nowMs < 0) return',
    },
    {
      slip: 'a process renews a grant that another one has leased',
      text: 'if ((found.grant.lease?.untilMs ?? 0) <= nowMs) {',
      becomes: 'if (nowMs > 0) {',
    },
    {
      slip: 'a grant that can no longer be renewed is not removed',
      text: 'await grants.remove(key, leased.bytes);',
      becomes: '',
    },
    {
      slip: 'an authorization server that cannot be reached is tried again by every request',
      text: 'if (fault !== undefined && nowMs < retryAtMs) return',
      becomes: 'if (fault !== undefined && nowMs < 0) return',
    },
    {
      slip: 'a token that the backend has rejected is sent again',
      text: 'const isDue = !isGood || token.isRefused || ',
      becomes: 'const isDue = !isGood || ',
    },
    {
      slip: 'a lease stays on a grant that could not be renewed',
      text: 'await grants.replace(key, leased.bytes, { ...grant, lease: undefined });',
      becomes: '',
    },
    {
      slip: 'secrets are sent to authorization servers in plain text',
      text: "if (this.#means.mode === 'tls-only' && endpointOrigin.startsWith('http:'))",
      becomes: "if (this.#means.mode === 'tls-only' && endpointOrigin === '')",
    },
  ]),
  ...mutantsOf('src/control-plane/connect/connect.ts', CONSENT, [
    {
      slip: 'a browser can complete a consent that another one has begun',
      text: 'if (hashOf(browser) !== begun.browser)',
      becomes: "if (browser === '-')",
    },
    {
      slip: 'a link for one server is accepted for another',
      text: 'if (reading.ticket.backendName !== server)',
      becomes: "if (server === '')",
    },
    {
      slip: 'a user may have any number of grants',
      text: 'for (const { key: old, bytes } of oldest.slice(0, -grantsMax(subject))) await',
      becomes: 'for (const { key: old, bytes } of oldest.slice(0, 0)) await',
    },
  ]),
  ...mutantsOf('src/control-plane/connect/connect-records.ts', CONSENT, [
    {
      slip: 'a link can be used twice',
      text: 'if (used.some(({ id }) => id === ticketId))',
      becomes: 'if (used.length < 0)',
    },
    {
      slip: 'any number of links for one backend can be used',
      text: 'if (used.length >= limits.connectStartsMax)',
      becomes: 'if (used.length < 0)',
    },
    {
      slip: 'a consent can be completed with the state of another one',
      text: 'if (record.begun?.nonce !== nonce) return',
      becomes: 'if (record.begun === undefined) return',
    },
    {
      slip: 'a consent can be completed after it has expired',
      text: 'begun !== undefined && nowMs < begun.untilMs ? begun',
      becomes: 'begun !== undefined ? begun',
    },
  ]),
  ...mutantsOf('src/control-plane/connect/discovery.ts', CONSENT, [
    {
      slip: 'metadata of a backend is read from another origin',
      text: 'URL.canParse(named) && new URL(named).origin === backend.origin)',
      becomes: 'URL.canParse(named))',
    },
    {
      slip: 'a backend may name the resource of another origin',
      text: 'if (url?.origin !== backend.origin || !isWithin)',
      becomes: 'if (!isWithin)',
    },
    {
      slip: 'a backend may name the resource of another path',
      text: 'if (url?.origin !== backend.origin || !isWithin)',
      becomes: 'if (url?.origin !== backend.origin)',
    },
    {
      slip: 'metadata that names another authorization server is accepted',
      text: "if (named.replace(/\\/$/, '') !== issuer.replace(/\\/$/, ''))",
      becomes: "if (named === '')",
    },
    {
      slip: 'an authorization server without PKCE is accepted',
      text: "if (!textsIn(metadata, 'code_challenge_methods_supported').includes('S256'))",
      becomes: "if (named === '')",
    },
    {
      slip: 'endpoints at refused addresses are accepted',
      after: 'lacks a required endpoint.',
      text: 'fetch.check(new URL(text));',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/control-plane/http/merge-patch.ts',
    ['control-plane/http/changes', 'spec/control-plane/servers'],
    [
      {
        slip: 'null in a patch does not remove the member',
        text: 'if (value === null) members.delete(name);',
        becomes: 'if (value === undefined) members.delete(name);',
      },
      {
        slip: 'a patch of any depth is merged',
        text: 'if (depth > limits.patchDepthMax) throw',
        becomes: 'if (depth < 0) throw',
      },
      { slip: 'the result of a patch is not validated', text: 'refuseMisshaped(schema, whole);', becomes: '' },
    ],
  ),
];
