// Messages as large as the limits let them be, through real workers: over the edge, a hop, and TLS to the backend. No turn
// of a worker's event loop is dear (test/relay/event-loop.test.ts has what the relay alone may get).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';
import { createCertificates } from '../support/certificates.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { slownessNow } from '../support/turn-cost.js';

const MIB = 1024 * 1024;
/** What `--max-body-bytes` is unless it is set. */
const BODY_BYTES = 4 * MIB;
const ANSWER_BYTES = 12 * MIB;
const TURN_MS_MAX = 50;
/** Each over a connection of its own, so that some of them hop. */
const TIMES = 2;

t.test('no large message holds up a worker', async (t) => {
  const certificates = createCertificates(t);
  const { certificate: cert, privateKey: key } = certificates.server;
  const turns = createScratchDirectory(t);
  const watch = pathToFileURL(fileURLToPath(new URL('../support/turn-watch.js', import.meta.url)));
  const deployment = await startDeployment(t, {
    workerCount: 2,
    environment: {
      NODE_EXTRA_CA_CERTS: certificates.authority.certificatePath,
      NODE_OPTIONS: `--import ${watch.href}`,
      TURN_WATCH_DIRECTORY: turns,
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
    const dearestMs = Math.max(
      0,
      ...deployment.gateway.workerPids().map((pid) => dearestSince(turns, pid, startedAtMs)),
    );
    const boundMs = dearestMs < TURN_MS_MAX ? TURN_MS_MAX : TURN_MS_MAX * slownessNow();
    t.ok(
      dearestMs < boundMs,
      `${what}: the dearest turn cost ${Math.round(dearestMs)} ms of ${Math.round(boundMs)} at most`,
    );
  }
});

/** What `turn-watch.ts` has written down. Throws when it does not watch this process. */
function dearestSince(directory: string, pid: number, sinceMs: number): number {
  const lines = readFileSync(join(directory, `${pid}.turns`), 'utf8')
    .trim()
    .split('\n');
  const costs = lines.map((line) => line.split(' ').map(Number)).filter(([atMs = 0]) => atMs >= sinceMs);
  return Math.max(0, ...costs.map(([, costMs = 0]) => costMs));
}
