// Decisions 2.1: of two faults in one request, the one that is checked earlier decides the answer. Every pair of faults of
// different steps is tried, so that no two steps can change places unnoticed.
import t from 'tap';
import { type Deployment, forEachDeployment } from '../support/deployment.js';
import { INITIALIZE_PARAMS } from '../support/mcp-caller.js';
import { send, type HttpAnswer } from '../support/raw-http.js';
import { BODY_BYTES_MAX, BOUNDED } from './bounded.js';

const CONFIG_PROBLEM = 'Problem occurred retrieving the configuration';

/** The steps in their order; each fault belongs to one. */
const STEPS = [
  'path',
  'host and origin',
  'token',
  'method',
  'user config',
  'virtual host',
  'transport',
  'session',
  'JSON-RPC',
] as const;

interface RequestPlan {
  path: 'mcp' | 'unknown';
  method: 'POST' | 'DELETE' | 'GET' | 'PUT';
  host: string | undefined;
  origin: string | undefined;
  token: 'valid' | 'missing' | 'expired';
  config: 'present' | 'missing' | 'undecodable';
  virtualHost: 'present' | 'absent';
  accept: string;
  contentType: string;
  protocolVersion: string | undefined;
  session: string | undefined;
  body: string;
}

interface Fault {
  readonly name: string;
  readonly step: (typeof STEPS)[number];
  readonly change: Partial<RequestPlan>;
  readonly status: number;
  /** The exact body, if it is fixed. */
  readonly body?: string;
  /** The JSON-RPC code, if it is needed to tell this refusal from another of the same status. */
  readonly code?: number;
  /** The methods to which the fault applies. */
  readonly methods: readonly RequestPlan['method'][];
}

const ANY = ['POST', 'DELETE', 'GET', 'PUT'] as const;
const SERVED = ['POST', 'DELETE', 'GET'] as const;
const POST = ['POST'] as const;

const FAULTS: readonly Fault[] = [
  {
    name: 'unknown path',
    step: 'path',
    change: { path: 'unknown' },
    status: 404,
    body: '{"detail":"Not Found"}',
    methods: ANY,
  },
  { name: 'PUT', step: 'method', change: { method: 'PUT' }, status: 405, methods: ['PUT'] },
  { name: 'foreign host', step: 'host and origin', change: { host: 'evil.example' }, status: 403, methods: ANY },
  {
    name: 'foreign origin',
    step: 'host and origin',
    change: { origin: 'http://evil.example' },
    status: 403,
    methods: ANY,
  },
  { name: 'missing token', step: 'token', change: { token: 'missing' }, status: 401, methods: ANY },
  { name: 'expired token', step: 'token', change: { token: 'expired' }, status: 401, methods: ANY },
  {
    name: 'no config',
    step: 'user config',
    change: { config: 'missing' },
    status: 400,
    body: CONFIG_PROBLEM,
    methods: ANY,
  },
  {
    name: 'undecodable config',
    step: 'user config',
    change: { config: 'undecodable' },
    status: 500,
    body: CONFIG_PROBLEM,
    methods: ANY,
  },
  {
    name: 'absent virtual host',
    step: 'virtual host',
    change: { virtualHost: 'absent' },
    status: 404,
    body: '{"detail":"Server not found"}',
    methods: ANY,
  },
  { name: 'not acceptable', step: 'transport', change: { accept: 'text/html' }, status: 406, methods: ['POST', 'GET'] },
  { name: 'wrong content type', step: 'transport', change: { contentType: 'text/plain' }, status: 415, methods: POST },
  {
    name: 'body over the limit',
    step: 'transport',
    change: { body: 'x'.repeat(BODY_BYTES_MAX + 1) },
    status: 413,
    methods: POST,
  },
  {
    name: 'unsupported version',
    step: 'transport',
    // On initialize, which goes without a session, the header is tolerated (S26).
    change: { protocolVersion: '1999-01-01', session: 'x'.repeat(32) },
    status: 400,
    methods: SERVED,
  },
  { name: 'unknown session', step: 'session', change: { session: 'x'.repeat(32) }, status: 404, methods: SERVED },
  { name: 'not JSON', step: 'JSON-RPC', change: { body: '{' }, status: 400, code: -32700, methods: POST },
];

await forEachDeployment(t, BOUNDED, async (t, deployment) => {
  const requester = await createRequester(deployment);

  for (const method of ['POST', 'DELETE', 'GET', 'PUT'] as const) {
    const faults = FAULTS.filter(({ methods }) => methods.includes(method));
    // PUT itself is refused, at the step `method`.
    for (const step of method !== 'PUT' ? STEPS : STEPS.slice(0, STEPS.indexOf('method') + 1)) {
      const earlier = faults.filter((fault) => fault.step === step);
      if (earlier.length === 0) continue;
      await t.test(`${method}: ${step} comes before all after it`, async (t) => {
        for (const fault of earlier) {
          const later = faults.filter((other) => STEPS.indexOf(other.step) > STEPS.indexOf(step));
          for (const other of [undefined, ...later]) {
            const answer = await requester({ method, ...other?.change, ...fault.change });
            const pair = other === undefined ? `${fault.name} alone` : `${fault.name} before ${other.name}`;
            t.equal(answer.status, fault.status, pair);
            if (fault.body !== undefined) t.equal(answer.text, fault.body, pair);
            if (fault.code !== undefined) t.match(answer.json(), { error: { code: fault.code } }, pair);
          }
          const all = Object.assign({}, ...later.toReversed().map(({ change }) => change)) as Partial<RequestPlan>;
          t.equal(
            (await requester({ method, ...all, ...fault.change })).status,
            fault.status,
            `${fault.name} before all`,
          );
        }
      });
    }
  }

  await t.test('the request without a fault is served', async (t) => {
    t.equal((await requester({ method: 'POST' })).status, 200);
    t.equal((await requester({ method: 'DELETE' })).status, 400, 'DELETE without a session');
    t.equal((await requester({ method: 'GET' })).status, 400, 'GET without a session');
  });
});

/** Returns a function that sends requests that are correct except for what a plan changes. */
async function createRequester(deployment: Deployment): Promise<(plan: Partial<RequestPlan>) => Promise<HttpAnswer>> {
  const subjects = {
    present: deployment.newSubject(),
    missing: deployment.newSubject(),
    undecodable: deployment.newSubject(),
  };
  const virtualHosts = { present: deployment.newVirtualHostId(), absent: deployment.newVirtualHostId() };
  await deployment.writeConfig(subjects.present, { virtual_hosts: { [virtualHosts.present]: { backends: {} } } });
  await deployment.writeRawConfig(subjects.undecodable, Buffer.from('{'));

  const tokensOf = async (subject: string): Promise<{ readonly valid: string; readonly expired: string }> => ({
    valid: await deployment.token(subject),
    expired: await deployment.token(subject, { expiresInSeconds: -60 }),
  });
  const tokens = {
    present: await tokensOf(subjects.present),
    missing: await tokensOf(subjects.missing),
    undecodable: await tokensOf(subjects.undecodable),
  };

  return async ({ method = 'POST', token = 'valid', config = 'present', virtualHost = 'present', ...plan }) => {
    const headers: [string, string][] = [['accept', plan.accept ?? 'application/json, text/event-stream']];
    if (method === 'POST' || method === 'PUT') headers.push(['content-type', plan.contentType ?? 'application/json']);
    if (plan.host !== undefined) headers.push(['host', plan.host]);
    if (plan.origin !== undefined) headers.push(['origin', plan.origin]);
    if (plan.protocolVersion !== undefined) headers.push(['mcp-protocol-version', plan.protocolVersion]);
    if (plan.session !== undefined) headers.push(['mcp-session-id', plan.session]);
    if (token !== 'missing') headers.push(['authorization', `Bearer ${tokens[config][token]}`]);
    const known = deployment.gateway.path(virtualHosts[virtualHost]);
    const path = plan.path === 'unknown' ? `${known}/nowhere` : known;
    const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
    const body = method === 'POST' || method === 'PUT' ? { body: plan.body ?? initialize } : {};
    return send(deployment.gateway.origin, { method, path, headers, ...body });
  };
}
