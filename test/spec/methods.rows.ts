// HTTP methods that callers make up. An unknown one is 405 and affects no other caller; responses without a body have none, and
// leave their connection usable.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { answerText, rpc, type McpSession } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';

/** Names that every JavaScript object has, in the spellings in which a request can send them. */
const INHERITED = [
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__proto__',
  'isPrototypeOf',
  'toLocaleString',
];
const MADE_UP = [...INHERITED, ...INHERITED.map((name) => name.toUpperCase()), 'PURGE', 'M-SEARCH', 'POSTS', 'D'];

await forEachDeployment(t, {}, async (t, deployment) => {
  const { origin } = deployment.gateway;

  const openSession = async (t: Test): Promise<McpSession> => {
    const backend = await backendFor(t);
    return (await deployment.caller({ one: { url: backend.url } })).openSession();
  };

  await t.test('a method that nobody knows is 405, and the calls of others go on', async (t) => {
    const [attacker, victim] = [await openSession(t), await openSession(t)];
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    let isDone = false;
    const attack = (async () => {
      for (let round = 0; round < 3; round++) {
        for (const method of MADE_UP) {
          const { status, text } = await attacker.caller.send({ method, session: attacker.id });
          if (status !== 405) t.fail(`${method}: ${status} ${text}`);
        }
      }
      isDone = true;
    })();
    let calls = 0;
    while (!isDone || calls < 20) {
      const answer = await victim.call('one-echo', `{"n":${calls}}`);
      if (answer.status !== 200) t.fail(`the victim's call: ${answer.status} ${answer.text}`);
      else if (!answerText(answer).includes(`{"n":${calls}}`)) t.fail(`the victim's call: ${answer.text}`);
      calls += 1;
    }
    await attack;
    t.ok(calls >= 20, `${calls} calls of the victim`);
    t.equal((await attacker.list()).status, 200, 'the session is still there: nothing was taken for DELETE');
  });

  await t.test('a preflight leaves its connection as good as new', async (t) => {
    const session = await openSession(t);
    const { caller } = session;
    const pageOrigin = 'http://localhost:3000';
    const preflight = caller.request({
      method: 'OPTIONS',
      token: null,
      headers: [
        ['origin', pageOrigin],
        ['access-control-request-method', 'POST'],
      ],
    });
    const ping = caller.request({ session: session.id, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    for (let round = 0; round < 3; round++) {
      connection.write(encodeRequest(origin, preflight));
      const answer = await connection.readAnswer('OPTIONS');
      t.equal(answer.status, 204);
      t.equal(answer.header('content-length'), undefined, 'a 204 has no length (RFC 9110, 8.6)');
      t.equal(answer.header('access-control-allow-origin'), pageOrigin);
      connection.write(encodeRequest(origin, ping));
      t.equal(rpc(await connection.readAnswer()).id, 1, 'the next answer on the connection');
    }
    t.equal(connection.unread.length, 0);
  });

  await t.test('a client that keeps its connections can use them after a preflight and after a HEAD', async (t) => {
    const { caller, id } = await openSession(t);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    const sockets = new Set<unknown>();
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    for (const method of ['OPTIONS', 'POST', 'HEAD', 'POST', 'OPTIONS', 'HEAD', 'POST']) {
      const headers = Object.fromEntries(caller.request({ session: id }).headers);
      const answer = await ask(deployment, agent, method, caller.path, method === 'POST' ? body : '', headers);
      t.equal(answer.status, { OPTIONS: 204, POST: 200, HEAD: 405 }[method], method);
      sockets.add(answer.port);
    }
    t.equal(sockets.size, 1, 'all over one connection');
  });

  await t.test('HEAD is answered as GET would be, without the body', async (t) => {
    const caller = await deployment.caller();
    const paths = ['/gw-rs/health', caller.path, '/gw-rs/nowhere', '/', '/gw-rs/servers/x/mcp'];
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    for (const path of paths) {
      const [get, head] = ['GET', 'HEAD'].map((method) => encodeRequest(origin, { method, path, headers: [] }));
      connection.write(get ?? '');
      const ofGet = await connection.readAnswer('GET');
      connection.write(head ?? '');
      const ofHead = await connection.readAnswer('HEAD');
      t.equal(ofHead.status, ofGet.status, path);
      t.same(comparable(ofHead.headers), comparable(ofGet.headers), path);
      t.equal(ofHead.header('content-length'), String(ofGet.body.length), path);
      t.equal(connection.unread.length, 0, 'no body');
    }
  });
});

function comparable(headers: readonly (readonly [string, string])[]): [string, string][] {
  return (
    headers
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      // Each response has a request id of its own.
      .filter(([name]) => name !== 'date' && name !== 'x-request-id')
  );
}

async function ask(
  deployment: Deployment,
  agent: Agent,
  method: string,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number | undefined; port: number | undefined }> {
  const url = new URL(path, deployment.gateway.origin);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': String(body.length) };
    httpRequest(url, { agent, method, headers: { ...headers, ...length } }, resolve)
      .on('error', reject)
      .end(body);
  });
  const port = answer.socket.localPort;
  answer.resume();
  await new Promise((resolve) => answer.once('end', resolve));
  return { status: answer.statusCode, port };
}
