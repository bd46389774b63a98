// `--tls-address`, `--server-certificate`, `--server-private-key` (decisions section 1): the TLS listener.
import { request } from 'node:https';
import t from 'tap';
import { createCertificates } from '../support/certificates.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { runProgram } from '../support/gateway.js';
import { send } from '../support/raw-http.js';

const { authority, server } = createCertificates(t);
const FILES = ['--server-certificate', server.certificatePath, '--server-private-key', server.privateKeyPath];

interface TlsAnswer {
  readonly status: number;
  readonly session: string | undefined;
  readonly text: string;
}

async function sendOverTls(
  address: string,
  path: string,
  method: string,
  headers: Record<string, string>,
  body = '',
): Promise<TlsAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`https://${address}${path}`, { ca: authority.certificate, method, headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          session: [answer.headers['mcp-session-id']].flat()[0],
          text,
        }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

for (const workerCount of [1, 4]) {
  await t.test(`beside the plain listener, with ${workerCount} worker(s)`, async (t) => {
    const deployment = await startDeployment(t, { workerCount, options: ['--tls-address', '127.0.0.1:0', ...FILES] });
    const listening = await deployment.gateway.waitForLog(({ msg }) => msg === 'listening');
    const tlsAddress = String(listening['tlsAddress']);
    const backend = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const headers = {
      authorization: `Bearer ${caller.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };

    t.equal((await sendOverTls(tlsAddress, '/gw-rs/health', 'GET', {})).status, 200);
    t.equal(
      (await sendOverTls(tlsAddress, caller.path, 'POST', { 'content-type': 'application/json' }, '{}')).status,
      401,
    );

    const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const inSession = { ...headers, 'mcp-session-id': session.id };
    for (let round = 0; round < 8; round++) {
      const answer = await sendOverTls(tlsAddress, caller.path, 'POST', inSession, list);
      t.equal(answer.status, 200);
      t.match(JSON.parse(answer.text), { result: { tools: [{ name: 'one-x' }] } }, 'a session made over plain HTTP');
    }
    const initialize =
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}';
    const opened = await sendOverTls(tlsAddress, caller.path, 'POST', headers, initialize);
    t.equal(opened.status, 200);
    const elsewhere = await caller.send({ session: opened.session ?? '', body: list });
    t.equal(elsewhere.status, 200, 'and the other way round');

    const plainOnTls = send(`http://${tlsAddress}`, { method: 'GET', path: '/gw-rs/health', headers: [] });
    await t.rejects(plainOnTls, 'plain HTTP is not answered there');
  });
}

await t.test('the three options need each other', async (t) => {
  const alone = await runProgram(['--tls-address', '127.0.0.1:0']);
  t.equal(alone.code, 64);
  t.match(alone.errorOutput, /--server-certificate/);
  t.match(alone.errorOutput, /--server-private-key/);
  const noKey = await runProgram(['--tls-address', '127.0.0.1:0', '--server-certificate', server.certificatePath]);
  t.equal(noKey.code, 64);
  t.match(noKey.errorOutput, /--server-private-key/);
  const notAPair = ['--server-certificate', server.certificatePath, '--server-private-key', authority.privateKeyPath];
  const wrongPair = await runProgram(['--tls-address', '127.0.0.1:0', ...notAPair]);
  t.equal(wrongPair.code, 64);
  t.match(wrongPair.errorOutput, /--server-private-key/);
});
