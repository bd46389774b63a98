// Calls during which the server asks the caller something, against a scripted server.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { OpenedConnection } from '../../bench/bench-session.js';
import { runDialogues } from '../../bench/dialogue-loop.js';
import type { LoadPlan, Measurement } from '../../bench/load-plan.js';

const REPLY = '{"action":"accept"}';
const CALL = '{"jsonrpc":"2.0","id":5,"method":"tools/call"}';
const ANSWER = '{"jsonrpc":"2.0","id":5,"result":{}}';
const ASKED = '{"jsonrpc":"2.0","id":"a-1","method":"elicitation/create"}';

async function runAgainst(server: Server): Promise<Measurement> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const step = {
    method: 'POST',
    path: '/x',
    body: CALL,
    session: 'carries',
    expectedBody: ANSWER,
    reply: REPLY,
  } as const;
  const plan = { headers: { authorization: 'Bearer t' }, script: { opening: [], loop: [step], closing: [] } };
  const connections: OpenedConnection[] = [1, 2].map(() => ({ plan, sessionId: 's' }));
  const loadPlan: LoadPlan = {
    origin: `http://127.0.0.1:${port}`,
    connections: [],
    placement: undefined,
    requestsPerSecond: undefined,
    warmUpMs: 0,
    measureMs: 600,
    targetPids: [],
    backendPids: [],
  };
  try {
    return await runDialogues(loadPlan, connections);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** @param onCall handles a call; any other request is a reply, and goes to `onReply`. */
function serverOf(
  onCall: (response: ServerResponse) => void,
  onReply: (body: string, response: ServerResponse, request: IncomingMessage) => void,
): Server {
  return createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (body === CALL) onCall(response);
      else onReply(body, response, request);
    });
  });
}

/** Writes an event in two pieces. */
function tell(response: ServerResponse, message: string, onTold: () => void): void {
  response.write(`id: 1\nda`);
  setImmediate(() => {
    response.write(`ta: ${message}\n\n`);
    onTold();
  });
}

t.test('a question is answered on another connection, and then the call ends', async (t) => {
  const waiting: ServerResponse[] = [];
  const replies = new Set<string>();
  const server = serverOf(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // Only then: the answer to the other connection's question may come in between.
      tell(response, ASKED, () => waiting.push(response));
    },
    (body, response, { headers }) => {
      replies.add(`${headers.authorization} ${String(headers['mcp-session-id'])} ${body}`);
      response.writeHead(202).end();
      waiting.shift()?.end(`: comment\ndata: \n\ndata: ${ANSWER}\n\n`);
    },
  );
  const { requests, faults } = await runAgainst(server);
  t.ok(requests > 1, `${requests} calls`);
  t.match(faults, { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined });
  t.same([...replies], [`Bearer t s {"jsonrpc":"2.0","id":"a-1","result":${REPLY}}`]);
});

t.test('a wrong end and a refused answer are faults', async (t) => {
  const server = serverOf(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${ASKED}\n\n`);
      setImmediate(() => response.end('data: {"other":1}\n\n'));
    },
    (_, response) => void response.writeHead(400).end(),
  );
  const { faults } = await runAgainst(server);
  t.ok(faults.wrongBodies > 0 && faults.errors > 0, JSON.stringify(faults));
  t.ok(faults.sample);
});

t.test('an answer without a question or a stream is compared as it is', async (t) => {
  const good = await runAgainst(
    serverOf(
      (response) => void response.end(ANSWER),
      () => {},
    ),
  );
  t.match(good.faults, { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0 });
  const refused = await runAgainst(
    serverOf(
      (response) => void response.writeHead(503).end('busy'),
      () => {},
    ),
  );
  t.ok(refused.faults.non2xx > 0);
});
