// Messages as large as the limits let them be, through real workers: over the edge, a hop, and TLS to the backend. No turn
// of a worker's event loop is dear (test/relay/event-loop.test.ts has what the relay alone may get).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { createCertificates } from '../support/certificates.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import { KeptCaller } from '../support/kept-caller.js';
import { rpc, type McpCaller, type McpSession } from '../support/mcp-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { TurnLog } from '../support/turn-log.js';

const MIB = 1024 * 1024;
/** What `--max-body-bytes` is unless it is set. */
const BODY_BYTES = 4 * MIB;
const ANSWER_BYTES = 12 * MIB;
/** More than what moves a body of an unknown length, at 4 and at 16 MiB. */
const UPLOAD_BYTES = 24 * MIB;
const CHUNK_BYTES = 256 * 1024;
const WORKERS = 2;

t.test('no large message holds up a worker', async (t) => {
  const certificates = createCertificates(t);
  const { certificate: cert, privateKey: key } = certificates.server;
  const turns = new TurnLog(t);
  const deployment = await startDeployment(t, {
    workerCount: WORKERS,
    options: ['--max-body-bytes', '64MiB', '--max-bytes-in-flight', '512MiB'],
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
    upload: { url: await startUploadBackend(t) },
  });
  const { atHome, hopping } = await openBoth(t, caller);

  const kinds: Readonly<Record<string, (session: McpSession) => Promise<HttpAnswer>>> = {
    'arguments of plain text': (own) => own.call('quiet-x', `{"x":"${'x'.repeat(BODY_BYTES - 400)}"}`),
    'arguments of small tokens': (own) => own.call('quiet-x', `{"x":{"y":[${'1,'.repeat(BODY_BYTES / 2 - 400)}1]}}`),
    'an answer of text': (own) => own.call('json-text', '{}'),
    'an answer of objects': (own) => own.call('json-objects', '{}'),
    'an event of text': (own) => own.call('events-text', '{}'),
    'an event of objects': (own) => own.call('events-objects', '{}'),
    'a body of an unknown length': (own) => uploadInChunks(own, `"${'ä'.repeat(UPLOAD_BYTES / 2)}"`),
    'objects of an unknown length': (own) => uploadInChunks(own, `[${'{},'.repeat(BODY_BYTES / 3)}{}]`),
  };
  // What has not been compiled yet takes ten times as long, once in a worker's life.
  for (const session of [atHome, hopping]) await kinds['arguments of small tokens']?.(session);
  for (const [what, call] of Object.entries(kinds)) {
    for (const [way, session] of Object.entries({ 'at home': atHome, 'over a hop': hopping })) {
      await turns.check(
        t,
        `${what} ${way}`,
        () => deployment.gateway.workerPids(),
        async () => {
          t.match(rpc(await call(session)), { result: Object }, `${what} ${way}: answered`);
        },
      );
    }
  }
});

/** Two sessions over one connection: one of the worker that has the connection, one of the other. */
async function openBoth(t: Test, caller: McpCaller): Promise<{ atHome: McpSession; hopping: McpSession }> {
  const first = await openKept(t, caller);
  const home = ownerOf(first.session.id, WORKERS);
  for (;;) {
    const { session } = await openKept(t, caller);
    if (ownerOf(session.id, WORKERS) !== home) return { atHome: first.session, hopping: first.kept.use(session) };
  }
}

async function openKept(t: Test, caller: McpCaller): Promise<{ kept: KeptCaller; session: McpSession }> {
  const kept = await KeptCaller.connect(caller);
  t.teardown(() => kept.close());
  return { kept, session: await kept.openSession() };
}

async function uploadInChunks({ id, caller }: McpSession, value: string): Promise<HttpAnswer> {
  if (!(caller instanceof KeptCaller)) throw new Error('not over a kept connection');
  const params = `{"name":"upload-x","arguments":{"x":${value}}}`;
  const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
  return caller.sendInChunks({ session: id, body }, CHUNK_BYTES);
}

/** Takes bodies of any size, and keeps the beginning alone. */
async function startUploadBackend(t: Test): Promise<string> {
  const initialized =
    '"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"u","version":"1"}';
  const server = createServer((request, response) => {
    let beginning = '';
    request.on('data', (chunk: Buffer) => {
      if (beginning.length < 1_000) beginning += chunk.toString('latin1', 0, 1_000);
    });
    request.on('end', () => {
      const id = /"id": ?("[^"]*"|\d+)/.exec(beginning)?.[1];
      response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
      response.end(id === undefined ? '' : `{"jsonrpc":"2.0","id":${id},"result":{${initialized}}}`);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
