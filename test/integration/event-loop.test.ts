// Messages as large as the limits let them be, through real workers: over the edge, a hop, and TLS to the backend. No turn
// of a worker's event loop is dear (test/relay/event-loop.test.ts has what the relay alone may get).
import t from 'tap';
import { createCertificates } from '../support/certificates.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { TurnLog } from '../support/turn-log.js';

const MIB = 1024 * 1024;
/** What `--max-body-bytes` is unless it is set. */
const BODY_BYTES = 4 * MIB;
const ANSWER_BYTES = 12 * MIB;
/** Each over a connection of its own, so that some of them hop. */
const TIMES = 2;

t.test('no large message holds up a worker', async (t) => {
  const certificates = createCertificates(t);
  const { certificate: cert, privateKey: key } = certificates.server;
  const turns = new TurnLog(t);
  const deployment = await startDeployment(t, {
    workerCount: 2,
    environment: {
      ...turns.environment,
      NODE_EXTRA_CA_CERTS: certificates.authority.certificatePath,
    },
  });
  const text = new JsonText(`{"x":"${'ä'.repeat(ANSWER_BYTES / 2)}"}`);
  const objects = new JsonText(`{"x":{"y":[${'{},'.repeat(ANSWER_BYTES / 12)}{}]}}`);
  const tls = { cert, key };
  const quiet = await backendFor(t, { tls, onCall: () => ({}) });
  const json = await backendFor(t, { tls, onCall: ({ name }) => (name === 'text' ? text : objects) });
  const events = await backendFor(t, {
    tls,
    answerAs: 'event-stream',
    onCall: ({ name }) => (name === 'text' ? text : objects),
  });
  const caller = await deployment.caller({
    quiet: { url: quiet.url },
    json: { url: json.url },
    events: { url: events.url },
  });
  const session = await caller.openSession();

  const kinds: Readonly<Record<string, (session: McpSession) => ReturnType<McpSession['call']>>> = {
    'arguments of plain text': (own) => own.call('quiet-x', `{"x":"${'x'.repeat(BODY_BYTES - 400)}"}`),
    'arguments of small tokens': (own) => own.call('quiet-x', `{"x":{"y":[${'1,'.repeat(BODY_BYTES / 2 - 400)}1]}}`),
    'an answer of text': (own) => own.call('json-text', '{}'),
    'an answer of objects': (own) => own.call('json-objects', '{}'),
    'an event of text': (own) => own.call('events-text', '{}'),
    'an event of objects': (own) => own.call('events-objects', '{}'),
  };
  for (const [what, call] of Object.entries(kinds)) {
    const startedAtMs = Date.now();
    for (let time = 0; time < TIMES; time += 1) {
      t.match(rpc(await call(session)), { result: Object }, `${what}: answered`);
    }
    turns.check(t, what, deployment.gateway.workerPids(), startedAtMs);
  }
});
