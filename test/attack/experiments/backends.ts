// What a backend may do to the gateway, and through it to the users of other backends.
import { setTimeout as sleep } from 'node:timers/promises';
import { startEverythingServer } from '../../support/everything-server.js';
import { memberText } from '../../support/json-text.js';
import { answerText, type McpSession } from '../../support/mcp-caller.js';
import type { ReceivedRequest } from '../../support/raw-backend.js';
import { encodeRequest, RawConnection } from '../../support/raw-http.js';
import { until } from '../../support/until.js';
import { expect, tally, type Experiment } from '../experiment.js';
import { startHeadFirstBackend } from '../head-first-backend.js';

const MIB = 1_048_576;
/** For one `initialize` with a sick backend beside a healthy one: a patience of one second, on a loaded machine. */
const OPENING_MS_MAX = 5_000;

export const fatInitialize: Experiment = {
  name: 'fat-initialize',
  isOnceInShort: true,
  expected: 'an initialize of 57 MiB names the backend as unavailable and holds nobody up',
  async run(stage) {
    const capabilities = Buffer.from(`[${'{},'.repeat(19 * MIB)}{}]`);
    const backend = await stage.rawBackend((request) => answerFat(request, capabilities));
    const caller = await stage.caller({ fat: { url: backend.url } });
    const answers: string[] = [];
    for (let turn = 0; turn < stage.scaled(4, 1); turn++) {
      const connection = await stage.connect(60_000);
      const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`;
      connection.write(encodeRequest(stage.origin, caller.request({ body })));
      const answer = await connection.readAnswer();
      answers.push(`${answer.status}${answer.text.includes('switchyard/unavailable') ? ' unavailable' : ''}`);
    }
    const seen = tally(answers);
    expect(
      answers.every((answer) => answer === '200 unavailable'),
      seen,
    );
    return seen;
  },
};

function answerFat(request: ReceivedRequest, capabilities: Buffer): void {
  const id = memberText(request.text, 'id');
  if (id === undefined) return request.empty(202);
  const before = Buffer.from(
    `{"jsonrpc":"2.0","id":${id},"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"fat","version":"1"},"capabilities":{"tools":{},"x":`,
  );
  const after = Buffer.from('}}}');
  const length = before.length + capabilities.length + after.length;
  request.head({ headers: { 'content-type': 'application/json', 'content-length': String(length) } });
  for (const part of [before, capabilities, after]) request.bytes(part);
}

export const hungBackend: Experiment = {
  name: 'hung-backend',
  control: { options: ['--initialize-patience', '8s'], noticedBy: 'experiment' },
  isOnceInShort: true,
  expected: `new sessions with a silent backend beside a healthy one open within ${OPENING_MS_MAX / 1_000} s, also their first list`,
  async run(stage) {
    const silent = await stage.rawBackend(() => undefined);
    const healthy = await stage.backend();
    const caller = await stage.caller({ silent: { url: silent.url }, healthy: { url: healthy.url } });
    let longestMs = 0;
    for (let turn = 0; turn < stage.scaled(10, 3); turn++) {
      const beganMs = performance.now();
      const session = await caller.openSession();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      const names = await session.toolNames();
      expect(names.join() === 'healthy-echo', `tools: ${names.join()}`);
      const answer = await session.call('healthy-echo', '{"turn":1}');
      expect(answerText(answer).includes('{"turn":1}'), `call: ${answer.status} ${answer.text}`);
      await session.delete();
    }
    const seen = `the slowest of them opened in ${Math.round(longestMs)} ms`;
    expect(longestMs < OPENING_MS_MAX, seen);
    return seen;
  },
};

export const twoLists: Experiment = {
  name: 'two-lists',
  expected: 'two lists at once of one session are both complete, from the reference server',
  async run(stage) {
    const server = await startEverythingServer(stage.scope);
    const session = await (await stage.caller({ everything: { url: server.url } })).openSession();
    const beganMs = performance.now();
    const lists = await Promise.all(Array.from({ length: 4 }, () => session.toolNames()));
    const counts = lists.map(({ length }) => length);
    const seen = `${counts.join(', ')} tools after ${Math.round(performance.now() - beganMs)} ms`;
    expect(
      counts.every((count) => count > 0 && count === counts[0]),
      seen,
    );
    return seen;
  },
};

export const endlessPages: Experiment = {
  name: 'endless-pages',
  isOnceInShort: true,
  expected: 'a list without an end ends, and names the backend as unavailable',
  async run(stage) {
    const backend = await stage.backend({
      onRequest: (request) => {
        if (memberText(request.text, 'method') !== '"tools/list"') return false;
        const id = memberText(request.text, 'id');
        const tool = `{"name":"t${request.sequenceNumber}","inputSchema":{"type":"object"}}`;
        const result = `{"tools":[${tool}],"nextCursor":"${request.sequenceNumber}"}`;
        request.json(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
        return true;
      },
    });
    const session = await (await stage.caller({ endless: { url: backend.url } })).openSession();
    const text = await listSlowly(session);
    const seen = `${backend.requestsOf('tools/list').length} pages, ${text.length} bytes`;
    expect(text.includes('switchyard/unavailable'), `${seen}: ${text.slice(0, 100)}`);
    return seen;
  },
};

/** The text of a list that may take as long as the gateway allows. */
async function listSlowly(session: McpSession): Promise<string> {
  const connection = await RawConnection.open(session.caller.origin, 60_000);
  try {
    const body = '{"jsonrpc":"2.0","id":5,"method":"tools/list"}';
    connection.write(encodeRequest(session.caller.origin, session.caller.request({ session: session.id, body })));
    return answerText(await connection.readAnswer());
  } finally {
    connection.close();
  }
}

export const endlessStream: Experiment = {
  name: 'endless-stream',
  expected: 'a caller that does not read an endless stream: the backend is stopped, less than 200 MiB more memory',
  async run(stage) {
    let sentBytes = 0;
    let isOver = false;
    stage.scope.teardown(() => (isOver = true));
    const event = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 1, message: 'x'.repeat(64 * 1024) },
    });
    const backend = await stage.backend({
      answerAs: 'event-stream',
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        // Each write waits until the kernel has taken it.
        while (!isOver && !call.request.connection.destroyed) {
          await stream.event(event);
          sentBytes += event.length;
        }
      },
    });
    const callers = stage.scaled(20, 8);
    const before = stage.residentBytes;
    const session = await (await stage.caller({ endless: { url: backend.url } })).openSession();
    for (let id = 0; id < callers; id++) {
      const params = '{"name":"endless-echo","arguments":{},"_meta":{"progressToken":"p"}}';
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      const connection = await stage.write(session.caller.request({ session: session.id, body }));
      await connection.readHead();
      connection.pause();
    }
    let isStill = false;
    await until(async () => {
      const sentBefore = sentBytes;
      await sleep(1_000);
      isStill = sentBytes === sentBefore;
      return isStill || sentBytes > callers * 64 * MIB;
    }, 'the backend to be stopped').catch(() => undefined);
    const more = stage.residentBytes - before;
    const seen = `${callers} streams, ${Math.round(sentBytes / MIB)} MiB taken, ${Math.round(more / MIB)} MiB more, ${isStill ? 'stopped' : 'goes on'}`;
    expect(isStill && more < 200 * MIB, seen);
    return seen;
  },
};

export const earlyAnswers: Experiment = {
  name: 'early-answers',
  isOnceInShort: true,
  expected: 'a backend that answers early and resets gets each call once',
  gateway: { kind: 'own', options: ['--max-body-bytes', '32MiB'] },
  async run(stage) {
    const calls = stage.scaled(20, 3);
    const event = `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"${'x'.repeat(MIB)}"}}\n\n`;
    const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
    let heads = 0;
    let resets = 0;
    const url = await startHeadFirstBackend(stage.scope, (connection) => {
      heads++;
      // More events while the call is still under way than the gateway buffers for a caller that does not read; then a
      // reset, in the middle of the call.
      connection.pause();
      connection.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      for (let turn = 0; turn < 8; turn++) connection.write(chunk);
      setTimeout(() => {
        Object.assign(connection, { resetAndClosing: true });
        connection.destroy();
        resets++;
      }, 500);
    });
    const session = await (await stage.caller({ early: { url } })).openSession();
    const args = JSON.stringify({ text: 'x'.repeat(30 * MIB) });
    for (let id = 1; id <= calls; id++) {
      const params = `{"name":"early-echo","arguments":${args},"_meta":{"progressToken":1}}`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      const connection = await stage.write(session.caller.request({ session: session.id, body }));
      connection.pause();
      const earlier = resets;
      await until(() => resets > earlier, 'the reset');
      await sleep(500);
      connection.close();
    }
    const seen = `${calls} calls, sent ${heads} times`;
    expect(heads === calls, seen);
    return seen;
  },
};

export const metadataAddress: Experiment = {
  name: 'metadata-address',
  isOnceInShort: true,
  expected: 'a backend at a link-local or metadata address is refused by name, at once',
  async run(stage) {
    // In the same ranges as the real metadata addresses, but unused.
    const hosts = ['169.254.77.77', '[fe80::77]', '[::ffff:169.254.77.77]', '0251.254.77.77', '[fd00:ec2::77]'];
    const reasons: string[] = [];
    for (const host of hosts) {
      const caller = await stage.caller({ inside: { url: `http://${host}:9/mcp` } });
      const answer = await caller.initialize();
      reasons.push(/"reason":"([^"]*)"/.exec(answer.text)?.[1] ?? `${answer.status} ${answer.text.slice(0, 80)}`);
    }
    const seen = tally(reasons);
    expect(
      reasons.every((reason) => /addresses are refused/.test(reason)),
      seen,
    );
    return seen;
  },
};
