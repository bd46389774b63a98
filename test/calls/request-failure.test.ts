// A backend that wants its user's consent first: what each kind of client is told.
import t from 'tap';
import { failureOf } from '../../src/calls/relayed-request.js';
import type { RelayedRequestPlan } from '../../src/calls/era-rules.js';
import { upstreamFault } from '../../src/http-client/upstream-fault.js';

const URL = 'https://gateway.example/connect?ticket=1';
const FAULT = { ...upstreamFault('consent-missing', true), makeConnectUrl: () => URL };

function planOf(isModern: boolean, offersUrls: boolean): RelayedRequestPlan {
  const rules = { hasSession: !isModern };
  const session = { backendRequests: { offersUrls } };
  const upstream = { backend: { name: 'b' } };
  return { rules, session, upstream } as unknown as RelayedRequestPlan;
}

t.test('a client with sessions that opens URLs is asked to open the one for consent', async (t) => {
  const { code, data } = failureOf(FAULT, planOf(false, true));
  t.equal(code, -32042);
  t.match(data, { elicitations: [{ mode: 'url', url: URL, elicitationId: /^[\da-f-]{36}$/, message: /b/ }] });
});

t.test(
  'any other client finds the URL in the message, and a modern one never gets a code that it does not know',
  async (t) => {
    for (const plan of [planOf(false, false), planOf(true, false), planOf(true, true)]) {
      const error = failureOf(FAULT, plan);
      t.not(error.code, -32042);
      t.ok(error.message.includes(URL));
      t.equal(error.data, undefined);
    }
  },
);

t.test('without a URL, and for other failures, nothing is asked of the client', async (t) => {
  for (const fault of [{ ...FAULT, makeConnectUrl: () => undefined }, upstreamFault('consent-missing', true)]) {
    const error = failureOf(fault, planOf(false, true));
    t.not(error.code, -32042);
    t.match(error.message, /b/);
  }
});
