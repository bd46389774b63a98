// SIGHUP: every worker is replaced by a new one that reads the files again. Callers only notice that connections close after a response.
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { createCertificates, type Certificate } from '../support/certificates.js';
import { backendFor, startDeployment, type Deployment } from '../support/deployment.js';
import type { LogLine } from '../support/gateway.js';
import { EventReader } from '../support/event-reader.js';
import { memberText } from '../support/json-text.js';
import { createKeyPair } from '../support/keys.js';
import { BOTH_FORMS, rpc, type McpSession } from '../support/mcp-caller.js';
import { SpeakingBackend } from '../support/speaking-backend.js';
import { migratesConnections, runReloadLoad } from '../support/reload-load.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';

const FAILED = 'reload failed: workers that were not replaced keep serving';

/** Reloads once and waits for the end. @returns the log line of that end. */
async function reload({ gateway }: Deployment): Promise<LogLine> {
  const ends = (): LogLine[] => gateway.logs.filter(({ msg }) => msg === 'reloaded' || msg === FAILED);
  const before = ends().length;
  gateway.signal('SIGHUP');
  await until(() => ends().length > before, 'the end of the reload');
  return ends()[before]!;
}

function replace(certificate: Certificate, by: Certificate): void {
  writeFileSync(certificate.certificatePath, by.certificate);
  writeFileSync(certificate.privateKeyPath, by.privateKey);
}

async function fingerprintAt(t: Test, address: string): Promise<string> {
  const [host = '', port] = address.split(':');
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket.getPeerCertificate().fingerprint256;
}

t.test('certificates and keys are read again; calls in flight are answered by the old workers', async (t) => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  t.teardown(() => open());
  const backend = await backendFor(t, {
    withSessions: true,
    answerAs: 'event-stream',
    framing: 'chunked',
    onCall: () => opened,
  });
  const { server } = createCertificates(t);
  const files = ['--server-certificate', server.certificatePath, '--server-private-key', server.privateKeyPath];
  const key = createKeyPair(t);
  const options = ['--tls-address', '127.0.0.1:0', ...files];
  const deployment = await startDeployment(t, { workerCount: 2, key, options });
  const { gateway } = deployment;
  const tlsAddress = String((await gateway.waitForLog(({ msg }) => msg === 'listening'))['tlsAddress']);
  const caller = await deployment.caller({ one: { url: backend.url } });
  const pidsBefore = gateway.workerPids();
  const sessions: McpSession[] = [];
  await until(async () => {
    sessions.push(await caller.openSession());
    return new Set(sessions.map(({ id }) => ownerOf(id, 2))).size === 2;
  }, 'sessions of both workers');
  const calls = sessions.map((session) => session.call('one-echo', '{"n":1}'));
  await until(() => backend.calls.length === calls.length, 'the calls at the backend');
  const certificateBefore = await fingerprintAt(t, tlsAddress);

  replace(server, createCertificates(t).server);
  const nextKey = createKeyPair(t);
  writeFileSync(key.publicKeyPath, readFileSync(nextKey.publicKeyPath));
  t.match(await reload(deployment), { msg: 'reloaded' });

  t.not(await fingerprintAt(t, tlsAddress), certificateBefore, 'the renewed certificate');
  t.equal((await caller.initialize()).status, 401, 'a token of the old key');
  const request = { sub: caller.subject, key: nextKey.privateKey, algorithm: nextKey.algorithm };
  caller.token = await mint(request);
  await caller.openSession();
  t.equal(gateway.workerPids().length, 4, 'the old ones still have something to do');
  open();
  for (const answer of await Promise.all(calls)) {
    t.match(rpc(answer), { result: { structuredContent: { n: 1 } } });
    t.equal(backend.calls.length, calls.length, 'nothing was called twice');
  }
  gateway.signal('SIGTERM');
  t.same(await gateway.exit, { code: 0, signal: null }, 'a drain does not wait for what the old workers wait for');
  t.notOk(pidsBefore.some((pid) => gateway.workerPids().includes(pid)));
  t.equal(gateway.errorOutput, '');
});

t.test('a reload with invalid files changes nothing', async (t) => {
  const backend = await backendFor(t);
  const key = createKeyPair(t);
  const deployment = await startDeployment(t, { workerCount: 2, key });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const session = await caller.openSession();
  const pids = deployment.gateway.workerPids();
  writeFileSync(key.publicKeyPath, 'of wax');
  const { reason } = await reload(deployment);
  t.match(reason, /^--token-verification-public-key: /);
  t.notMatch(reason, /lists the options/);
  t.same(deployment.gateway.workerPids(), pids);
  t.match(rpc(await session.call('one-echo', '{"n":2}')), { result: { structuredContent: { n: 2 } } });
});

t.test('what a client says about a call reaches it, even if the worker that runs the call was replaced', async (t) => {
  const backend = await backendFor(t, { withSessions: true, onCall: (call) => void call.takeOver() });
  const received: string[] = [];
  const asking = await backendFor(t, {
    framing: 'chunked',
    onRequest: (request) => {
      if (memberText(request.text, 'result', 'roots') === undefined) return false;
      received.push(request.text);
      request.empty(202);
      return true;
    },
    onCall: async (call) => {
      await call.send({ jsonrpc: '2.0', id: 5, method: 'roots/list' });
      await until(() => received.length > 0, 'the answer at the backend');
      return { content: [] };
    },
  });
  const deployment = await startDeployment(t, { workerCount: 1 });
  const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
  const call = session.call('one-echo', '{}', { id: '77' });
  const params = '{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}';
  const asked = await (await deployment.caller({ one: { url: asking.url } })).openSession({ params });
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","arguments":{}}}';
  const stream = await EventReader.open(asked.caller, { session: asked.id, accept: BOTH_FORMS, body });
  const question = await stream.message();
  await until(() => backend.calls.length === 1, 'the call at the backend');
  t.match(await reload(deployment), { msg: 'reloaded' });
  // A connection still in the queue of the old listener is reset when that closes; no process has read from it, so it is safe to retry.
  const send = async (to: McpSession, text: string, triesLeft = 3): Promise<number> => {
    try {
      return (await to.send(text)).status;
    } catch (error) {
      if (triesLeft === 0 || migratesConnections()) throw error;
      return send(to, text, triesLeft - 1);
    }
  };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  t.equal(await send(asked, answer), 202, 'to a backend without sessions, too');
  await until(() => received.length > 0, 'the answer at the backend');
  t.same(received, ['{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}']);
  // The process that sent the request does not know that it was answered, and withdraws it when the call ends.
  t.match(await stream.message(), { method: 'notifications/cancelled', params: { requestId: question.id } });
  t.match(await stream.message(), { id: 7, result: {} });
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}';
  t.equal(await send(session, cancel), 202);
  await until(() => backend.requestsOf('notifications/cancelled').length === 1, 'the cancellation at the backend');
  await call.catch(() => undefined);
  t.match(rpc(await session.list()), { result: { tools: [{ name: 'one-echo' }] } }, 'the session is where it was');
  t.same(backend.deletedSessions, [], 'and so is its upstream session');
});

for (const refusesMore of [true, false]) {
  const which = refusesMore ? 'refuses a second' : 'sends on the latest';
  t.test(`calls that are answered on a backend's own stream end as others do: it ${which}`, async (t) => {
    const accepted: { readonly id: string; readonly sessionId: string }[] = [];
    const speaking: SpeakingBackend = await SpeakingBackend.start(t, {
      hasOneStream: refusesMore,
      onRequest: (request) => {
        if (!request.text.includes('"tools/call"')) return false;
        const sessionId = request.headers['mcp-session-id'] ?? '';
        accepted.push({ id: memberText(request.text, 'id') ?? '', sessionId });
        request.empty(202);
        return true;
      },
    });
    const deployment = await startDeployment(t, { workerCount: 2 });
    const session = await (await deployment.caller({ one: { url: speaking.backend.url } })).openSession();
    const get = { method: 'GET', session: session.id, accept: 'text/event-stream' } as const;
    const listening = await EventReader.open(session.caller, get);
    await speaking.stream();
    const ids = Array.from({ length: 20 }, (_, index) => String(index + 1));
    const calls = ids.map((id) => session.call('one-echo', '{}', { id }));
    await until(() => accepted.length === ids.length, 'the calls at the backend');
    t.match(await reload(deployment), { msg: 'reloaded' });
    await listening.rest();
    const again = await EventReader.open(session.caller, get);
    t.equal(again.status, 200);
    await until(() => speaking.gets.length > 1, 'the successor to listen, too');
    if (!refusesMore) await speaking.stream(2);
    for (const { id, sessionId } of accepted)
      await (await speaking.streamOf(sessionId)).event(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`);
    for (const [index, answer] of (await Promise.all(calls)).entries())
      t.same(rpc(answer), { jsonrpc: '2.0', id: index + 1, result: { content: [] } });
    await until(() => speaking.gets[0]?.connection.destroyed === true, 'the old stream to be closed');
    await speaking.stream(2);
  });
}

t.test('under load no request fails, no session is lost and nothing is called twice', async (t) => {
  const plan = { workerCount: 2, sessionCount: 12, streamCount: 3, reloadCount: 1, answersBetween: 20 };
  const outcome = await runReloadLoad(t, plan);
  t.same(outcome.wrong, []);
  t.same(outcome.repeated, []);
  t.same(outcome.wrongStreams, []);
  t.ok(outcome.streamsOpened > plan.streamCount, 'streams were ended, and opened again');
  t.ok(outcome.answers > 2 * plan.answersBetween * plan.sessionCount);
  // Unless configured otherwise, Linux resets connections in the queue of a listener that closes.
  if (migratesConnections()) t.same(outcome.resets, []);
  else t.ok(outcome.resets.length <= plan.sessionCount, `${outcome.resets.length} connections were reset`);
});
