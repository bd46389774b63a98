// Clients of older revisions: which version a session speaks, and that what an older client does not know does it no harm. The
// transport of 2024-11-05 with its two endpoints is not served (S44); its messages are, over streamable HTTP.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { JsonText, memberText } from '../support/json-text.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const OLD = ['2025-06-18', '2025-03-26', '2024-11-05'];

function initializeParams(version: string, capabilities = '{}'): string {
  return `{"protocolVersion":"${version}","capabilities":${capabilities},"clientInfo":{"name":"old","version":"1"}}`;
}

await forEachDeployment(t, {}, async (t, deployment) => {
  for (const version of OLD) {
    await t.test(
      `${version}: answered in kind; the version's header may be absent in its session (S25, S27)`,
      async (t) => {
        const backend = await backendFor(t, { withSessions: true });
        const caller = await deployment.caller({ one: { url: backend.url } });
        const session = await caller.openSession({ params: initializeParams(version) });
        t.match(rpc(session.opening).result, { protocolVersion: version });
        for (const protocolVersion of [null, version]) {
          t.match(rpc(await session.list({ protocolVersion })).result, { tools: [{ name: 'one-echo' }] });
          const called = await session.call('one-echo', '{"n":1.0}', { protocolVersion });
          t.equal(memberText(answerText(called), 'result', 'structuredContent'), '{"n":1.0}');
          const pinged = await session.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { protocolVersion });
          t.equal(answerText(pinged), '{"jsonrpc":"2.0","id":1,"result":{}}');
        }
        const other = await session.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { protocolVersion: '2025-11-25' });
        t.equal(other.status, 200, 'a supported version in the header is taken, whatever was agreed on');
        t.equal((await session.delete({ protocolVersion: null })).status, 200);
        await until(() => backend.deletedSessions.length === 1, 'the DELETE at the backend');
      },
    );

    await t.test(
      `${version}: the backend is offered the latest, and asked only for what the client declared`,
      async (t) => {
        const backend = await backendFor(t);
        const caller = await deployment.caller({ one: { url: backend.url } });
        await caller.openSession({ params: initializeParams(version, '{"sampling":{}}') });
        const sent = backend.requestsOf('initialize')[0]!.text;
        t.equal(memberText(sent, 'params', 'protocolVersion'), '"2025-11-25"');
        t.equal(memberText(sent, 'params', 'capabilities'), '{"sampling":{}}');
      },
    );

    await t.test(`${version}: members and kinds of content that it does not know pass as they are`, async (t) => {
      const tool = new JsonText(
        '{"name":"new","title":"T","icons":[{"src":"https://x/i.png"}],"inputSchema":{"type":"object"},' +
          '"outputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},"annotations":{"readOnlyHint":true}}',
      );
      const result =
        '{"content":[{"type":"audio","data":"AA==","mimeType":"audio/wav"},' +
        '{"type":"resource_link","uri":"https://x/y","name":"n"}],"structuredContent":{"n":1.0},"isError":false}';
      const backend = await backendFor(t, { tools: [tool], onCall: () => new JsonText(result) });
      const caller = await deployment.caller({ one: { url: backend.url } });
      const session = await caller.openSession({ params: initializeParams(version) });
      const listed = memberText(answerText(await session.list({ protocolVersion: null })), 'result', 'tools');
      t.equal(listed, `[${tool.text.replace('"new"', '"one-new"')}]`);
      const called = await session.call('one-new', '{}', { protocolVersion: null });
      t.equal(memberText(answerText(called), 'result'), result);
    });

    await t.test(`${version}: events have no ids, which its clients may choke on (S42)`, async (t) => {
      const backend = await backendFor(t, { answerAs: 'event-stream', withPriming: true });
      const caller = await deployment.caller({ one: { url: backend.url } });
      const session = await caller.openSession({ params: initializeParams(version) });
      const answer = await session.call('one-echo', '{}', { accept: 'text/event-stream', protocolVersion: null });
      t.equal(readEvents(answer.body).length, 1);
      t.notMatch(answer.text, /^(id|retry):/m);
    });
  }

  await t.test('a batch is 400 with an explanation in sessions of later versions, and without a session', async (t) => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${initializeParams('2025-03-26')}}`;
    const caller = await deployment.caller();
    const refusal = { error: { code: -32600, message: /one JSON-RPC 2\.0 message.*2025-03-26/ } };
    for (const version of ['2025-11-25', '2025-06-18']) {
      const session = await caller.openSession({ params: initializeParams(version) });
      for (const body of [`[${ping}]`, `[${ping},${ping}]`, '[]', `[${'1,'.repeat(200)}1]`]) {
        const answer = await session.send(body);
        t.equal(answer.status, 400, `${version}: ${body}`);
        t.match(answer.json(), refusal, `${version}: ${body}`);
      }
    }
    for (const body of [`[${initialize}]`, `[${initialize},${ping}]`, `[${ping}]`]) {
      const answer = await caller.send({ body });
      t.equal(answer.status, 400, body);
      t.match(answer.json(), refusal, body);
      t.equal(answer.header('mcp-session-id'), undefined);
    }
  });
});
