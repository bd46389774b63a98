// Slips in users' own grants at backends: whose they are, who renews them, and which statements of a backend are trusted.
import { mutantsOf, type Mutant } from '../mutant.js';

const TOKENS = ['upstream/credentials/user-tokens'];
const CONSENT = ['control-plane/connect/connect', 'integration/user-consent'];

export const consentMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/credentials/user-tokens.ts', TOKENS, [
    {
      slip: 'each refused token is replaced at once',
      text: 'if (!token.isRefused && nowMs < renewals.replaceableAtMs) return',
      becomes: 'if (!token.isRefused && nowMs < 0) return',
    },
    {
      slip: 'two processes renew a grant at once',
      text: 'if ((found.grant.lease?.untilMs ?? 0) <= nowMs) {',
      becomes: 'if (nowMs > 0) {',
    },
    {
      slip: 'a grant that is over stays',
      text: 'await grants.remove(key, leased.bytes);',
      becomes: '',
    },
    {
      slip: 'a server that is not there is asked by every request',
      text: 'if (fault !== undefined && nowMs < retryAtMs) return',
      becomes: 'if (fault !== undefined && nowMs < 0) return',
    },
    {
      slip: 'a refused token is shown again',
      text: 'const isDue = !isGood || token.isRefused || ',
      becomes: 'const isDue = !isGood || ',
    },
    {
      slip: 'a lease stays on a grant that could not be renewed',
      text: 'await grants.replace(key, leased.bytes, { ...grant, lease: undefined });',
      becomes: '',
    },
    {
      slip: 'secrets go to servers in plain text',
      text: "if (this.#means.mode === 'tls-only' && endpointOrigin.startsWith('http:'))",
      becomes: "if (this.#means.mode === 'tls-only' && endpointOrigin === '')",
    },
  ]),
  ...mutantsOf('src/control-plane/connect/connect.ts', CONSENT, [
    {
      slip: 'one browser ends what another has begun',
      text: 'if (hashOf(browser) !== begun.browser)',
      becomes: "if (browser === '-')",
    },
    {
      slip: 'a link for one server opens the page of another',
      text: 'if (reading.ticket.backendName !== server)',
      becomes: "if (server === '')",
    },
    {
      slip: 'a user has grants without end',
      text: 'for (const { key: old, bytes } of oldest.slice(0, -grantsMax(subject))) await',
      becomes: 'for (const { key: old, bytes } of oldest.slice(0, 0)) await',
    },
  ]),
  ...mutantsOf('src/control-plane/connect/connect-records.ts', CONSENT, [
    {
      slip: 'a link is used twice',
      text: 'if (used.some(({ id }) => id === ticketId))',
      becomes: 'if (used.length < 0)',
    },
    {
      slip: 'links without end are used',
      text: 'if (used.length >= limits.connectStartsMax)',
      becomes: 'if (used.length < 0)',
    },
    {
      slip: 'a consent is ended with another one’s state',
      text: 'if (record.begun?.nonce !== nonce) return',
      becomes: 'if (record.begun === undefined) return',
    },
    {
      slip: 'a consent is ended long after it was begun',
      text: 'begun !== undefined && nowMs < begun.untilMs ? begun',
      becomes: 'begun !== undefined ? begun',
    },
  ]),
  ...mutantsOf('src/control-plane/connect/discovery.ts', CONSENT, [
    {
      slip: 'another origin says what a backend is',
      text: 'URL.canParse(named) && new URL(named).origin === backend.origin)',
      becomes: 'URL.canParse(named))',
    },
    {
      slip: 'a backend names another’s resource',
      text: 'if (url?.origin !== backend.origin || !isWithin)',
      becomes: 'if (!isWithin)',
    },
    {
      slip: 'a backend names the resource of another path',
      text: 'if (url?.origin !== backend.origin || !isWithin)',
      becomes: 'if (url?.origin !== backend.origin)',
    },
    {
      slip: 'an authorization server says that it is another one',
      text: "if (named.replace(/\\/$/, '') !== issuer.replace(/\\/$/, ''))",
      becomes: "if (named === '')",
    },
    {
      slip: 'a server without PKCE is used',
      text: "if (!textsIn(metadata, 'code_challenge_methods_supported').includes('S256'))",
      becomes: "if (named === '')",
    },
    {
      slip: 'endpoints at refused addresses are named',
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
        slip: 'null takes nothing away',
        text: 'if (value === null) members.delete(name);',
        becomes: 'if (value === undefined) members.delete(name);',
      },
      {
        slip: 'a patch of any depth is put together',
        text: 'if (depth > limits.patchDepthMax) throw',
        becomes: 'if (depth < 0) throw',
      },
      { slip: 'what comes of a patch is not judged', text: 'refuseMisshaped(schema, whole);', becomes: '' },
    ],
  ),
];
