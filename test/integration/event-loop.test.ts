// Messages as large as the limits allow, through real workers: over the edge, a hop, and TLS to the backend. No turn of a worker's
// event loop takes long (test/relay/event-loop.test.ts tests the relay alone).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { ownerOf } from '../../src/worker/session-id.js';
import { Scope } from '../attack/scope.js';
import { UnansweredCalls } from '../support/attacker.js';
import { createCertificates } from '../support/certificates.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { KeptCaller } from '../support/kept-caller.js';
import { rpc, type McpCaller, type McpSession } from '../support/mcp-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { TurnLog } from '../support/turn-log.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
/** The default of `--max-body-bytes`. */
const BODY_BYTES = 4 * MIB;
const ANSWER_BYTES = 12 * MIB;
/** Beyond 4 and 16 MiB, the sizes at which a body of unknown length is copied into larger memory. */
const UPLOAD_BYTES = 24 * MIB;
const CHUNK_BYTES = 256 * 1024;
const WORKERS = 2;

/** The first letter of the parameters' names; the most keys of arguments that are recorded, less 20 for the nodes around them. */
const SAID = { prefix: 'q', keys: limits.argumentsExaminedMax - 20 };
/** A tool with as many mirrored parameters as a call may have, each nested as deeply as allowed. */
const MIRRORED = {
  name: 'said',
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: limits.mirroredParamsMax }, (_, n) => {
        const leaf = { type: 'string', 'x-mcp-header': `X${n}` };
        const inner = [7, 6, 5, 4, 3, 2, 1].reduce<object>(
          (schema, depth) => ({ type: 'object', properties: { [saidName(n, depth)]: schema } }),
          leaf,
        );
        return [saidName(n, 0), inner];
      }),
    ),
  },
};

function saidName(param: number, depth: number): string {
  return SAID.prefix + String(param * 8 + depth).padStart(3, '0');
}

/** Keys as long as the parameters' names, in a message that is too large to be parsed at once. */
function manyKeys(value: string): string {
  return `{${`"${SAID.prefix}zzz":${value},`.repeat(SAID.keys)}"x":"${'x'.repeat(BODY_BYTES / 2)}"}`;
}

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
  const mirrored = await modernBackendFor(t, { tools: [MIRRORED], onCall: () => ({ content: [] }) });
  const caller = await deployment.caller({
    mirrored: { url: mirrored.url },
    quiet: { url: quiet.url },
    fixing: { url: quiet.url, tools: { x: { fixed_arguments: { value: 1 } } } },
    json: { url: json.url },
    events: { url: events.url },
    upload: { url: await startUploadBackend(t) },
  });
  const { atHome, hopping } = await openBoth(t, caller);
  // The gateway learns from a list which headers the tool requires.
  for (const session of [atHome, hopping]) await session.list();

  const long = 'x'.repeat(BODY_BYTES / limits.argumentsExaminedMax - 30);
  const likeFixed = `{${Array.from({ length: limits.argumentsExaminedMax }, (_, n) => `"valux${n}":"${long}"`).join()}}`;
  const kinds: Readonly<Record<string, (session: McpSession) => Promise<HttpAnswer>>> = {
    'arguments of plain text': (own) => own.call('quiet-x', `{"x":"${'x'.repeat(BODY_BYTES - 400)}"}`),
    'arguments of small tokens': (own) => own.call('quiet-x', `{"x":{"y":[${'1,'.repeat(BODY_BYTES / 2 - 400)}1]}}`),
    'arguments of small objects that the head may say': (own) => own.call('mirrored-said', manyKeys('{}')),
    'arguments of small values that the head may say': (own) => own.call('mirrored-said', manyKeys('0')),
    'arguments that are all compared with one that the config fixes': (own) => own.call('fixing-x', likeFixed),
    'an answer of text': (own) => own.call('json-text', '{}'),
    'an answer of objects': (own) => own.call('json-objects', '{}'),
    'an event of text': (own) => own.call('events-text', '{}'),
    'an event of objects': (own) => own.call('events-objects', '{}'),
    'a body of an unknown length': (own) => uploadInChunks(own, `"${'ä'.repeat(UPLOAD_BYTES / 2)}"`),
    'objects of an unknown length': (own) => uploadInChunks(own, `[${'{},'.repeat(BODY_BYTES / 3)}{}]`),
  };
  // The first run takes ten times as long, once in a worker's life, because the code is not compiled yet.
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

t.test('the end of a session with as many calls in flight as it may have does not hold up its worker', async (t) => {
  const turns = new TurnLog(t);
  const deployment = await startDeployment(t, {
    workerCount: 1,
    options: [
      ...['--upstream-connections', '2048', '--upstream-connections-per-subject', '2048'],
      // However long it takes until all calls are in flight, each gets a single response instead of a stream.
      ...['--slow-answer', '10m'],
    ],
    environment: turns.environment,
  });
  const { sessionRequestsInFlightMax: count } = limits;
  const backend = await backendFor(t, { onCall: (call) => void call.takeOver() });
  const what = `the end of a session with ${count} calls under way`;
  await turns.check(
    t,
    what,
    () => deployment.gateway.workerPids(),
    async () => {
      const session = await (await deployment.caller({ hung: { url: backend.url } })).openSession();
      const scope = new Scope();
      const calls = new UnansweredCalls(scope);
      const before = backend.calls.length;
      await calls.send([session], count, 'hung-echo');
      await until(() => backend.calls.length === before + count, 'all calls at the backend');
      t.equal((await session.delete()).status, 200);
      await until(() => calls.answers.length === count, 'every caller is answered');
      const errors = calls.answers.map(({ text }) => JSON.parse(text) as { error?: { message?: string } });
      t.same([...new Set(errors.map(({ error }) => error?.message))], ['Backend "hung" failed: session ended']);
      await scope.end();
    },
  );
});

/** Two sessions over one connection: one owned by the worker of that connection, one by the other worker. */
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

/** Accepts bodies of any size, and keeps only the beginning. */
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
