// The MCP servers behind everything that is measured, in a separate process: raw sockets and precomputed responses, so that
// it costs a fraction of what is measured. It understands the requests of its three callers (the gateway, nginx, the load)
// and is no model of an HTTP server. Hot path.
import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { Confirmations } from './confirmations.js';
import { COLLECTOR_PATH, TOKEN_ANSWER, TOKEN_PATH, WANTED_LINES } from './credentials.js';
import { MODERN_VERSION } from './modern-message.js';
import { resourceAnswerTail, resourceUri } from './resource.js';
import { listAnswer, toolTexts } from './tool-list.js';
import {
  addTool,
  asEventStream,
  confirmTool,
  modernAnswerTail,
  tools,
  toolAnswerTail,
  type AnswerStyle,
} from './tool.js';

const HEAD_END = '\r\n\r\n';
const CALL = '"method":"tools/call"';
const CLAIM = `"io.modelcontextprotocol/protocolVersion":"${MODERN_VERSION}"`;
const CALL_NAME = '"name":"';
const READ = '"method":"resources/read"';
const READ_URI = `"uri":"${resourceUri}"`;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;

/** The part of a call's response after the id, by backend and tool. */
const answerTails = new Map<string, string>();
/** The part of a resource's response after the id, by backend. */
const resourceTails = new Map<string, string>();
/** By their length. */
const toolLists = new Map<number, readonly string[]>();
/** The part of a call's response after the id where requests have no session, by backend. */
const modernTails = new Map<string, string>();
const confirmations = new Confirmations();
/** What a backend with one tool lists: the tools that are called, since some gateways refuse a tool that was not listed. */
const CALLED_TOOLS = [
  ['add', { a: { type: 'number' }, b: { type: 'number' } }],
  ['store', { text: { type: 'string' } }],
  ['fetch', {}],
].map(([name, properties]) => JSON.stringify({ name, inputSchema: { type: 'object', properties } }));

/** The capabilities that a backend declares, by the last word of its path. */
const capabilities: Readonly<Record<string, unknown>> = {
  resources: { tools: {}, resources: {} },
  changes: { tools: { listChanged: true } },
  promises: { tools: { listChanged: true } },
};

/**
 * Starts a listener, whose port is reported to the parent. The path says which backend is meant, how it answers, how many tools it lists
 * and what else it offers: `/alpha/json/250/none`.
 */
async function listen(port: number): Promise<number> {
  const server = createServer({ noDelay: true }, serve);
  await new Promise<void>((resolve) => void server.listen({ host: '127.0.0.1', port, backlog: 1_024 }, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the backend has no port');
  return address.port;
}

function serve(socket: Socket): void {
  let pending = '';
  let charsNeeded = 0;
  // latin1 keeps one character per byte, so lengths can be counted in characters.
  socket.setEncoding('latin1');
  // Connections are broken in the middle of a response by the load at the end of a run.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => confirmations.forget(socket));
  socket.on('data', (chunk: string) => {
    pending += chunk;
    // A long body comes in many pieces, and searching each would copy everything before it.
    if (pending.length < charsNeeded) return;
    charsNeeded = 0;
    for (;;) {
      const headEnd = pending.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const head = pending.slice(0, headEnd + 2);
      const bodyStart = headEnd + HEAD_END.length;
      const bodyEnd = bodyStart + contentLength(head);
      if (pending.length < bodyEnd) {
        charsNeeded = bodyEnd;
        return;
      }
      socket.write(answer(head, pending.slice(bodyStart, bodyEnd), socket), 'latin1');
      pending = pending.slice(bodyEnd);
    }
  });
}

function contentLength(head: string): number {
  const match = CONTENT_LENGTH.exec(head);
  return match === null ? 0 : Number(match[1]);
}

function answer(head: string, body: string, socket: Socket): string {
  const [method, path = ''] = head.slice(0, head.indexOf('\r\n')).split(' ');
  if (method === 'DELETE') return emptyAnswer('200 OK');
  if (path === TOKEN_PATH) return messageAnswer(TOKEN_ANSWER, 'json');
  if (path === COLLECTOR_PATH) return messageAnswer('{}', 'json');
  const [, backend, style, toolCount, offer = ''] = path.split('/');
  const wanted = WANTED_LINES[offer];
  if (wanted !== undefined && !head.includes(wanted)) return emptyAnswer('401 Unauthorized');
  if (method === 'GET' && offer === 'changes') return STANDING_STREAM;
  if (method !== 'POST') return emptyAnswer('405 Method Not Allowed');
  if (backend === undefined || (style !== 'json' && style !== 'event-stream')) return emptyAnswer('404 Not Found');
  if (offer === 'modern') return answerModern(body, backend, Number(toolCount));
  if (body.includes(CALL)) return answerCall(head, body, backend, style, socket);
  if (body.includes(READ)) return answerRead(head, body, backend, style);
  return answerOther(body, style, Number(toolCount), offer);
}

function answerCall(head: string, body: string, backend: string, style: AnswerStyle, socket: Socket): string {
  if (!hasSession(head)) return emptyAnswer('400 Bad Request');
  const nameStart = body.indexOf(CALL_NAME) + CALL_NAME.length;
  const tool = tools.get(body.slice(nameStart, body.indexOf('"', nameStart)));
  // Any other name or arguments were damaged on the way; the load counts the error response as a wrong body.
  if (tool === undefined || !body.includes(`"arguments":${tool.arguments}`)) {
    return emptyAnswer('422 Unprocessable Content');
  }
  const tail = remembered(answerTails, `${backend}/${tool.name}`, () => toolAnswerTail(backend, tool));
  const message = `{"jsonrpc":"2.0","id":${idOf(body)}${tail}`;
  return tool === confirmTool ? confirmations.ask(socket, message) : messageAnswer(message, style);
}

/** Answers as a server that speaks only MCP 2026-07-28. */
function answerModern(body: string, backend: string, toolCount: number): string {
  const isModern = body.includes(CLAIM);
  if (isModern && body.includes(CALL)) {
    if (!body.includes(`"name":"${addTool.name}","arguments":${addTool.arguments}`))
      return emptyAnswer('422 Unprocessable Content');
    const tail = remembered(modernTails, backend, () => modernAnswerTail(backend, addTool));
    return messageAnswer(`{"jsonrpc":"2.0","id":${idOf(body)}${tail}`, 'json');
  }
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  if (id === undefined) return emptyAnswer('202 Accepted');
  if (!isModern) {
    const data = { supported: [MODERN_VERSION], requested: '2025-11-25' };
    const error = { code: -32_022, message: 'Unsupported protocol version', data };
    return messageAnswer(JSON.stringify({ jsonrpc: '2.0', id, error }), 'json', '', '400 Bad Request');
  }
  const list = remembered(toolLists, toolCount, () => toolTexts(toolCount));
  if (method === 'tools/list') return messageAnswer(listAnswer(JSON.stringify(id), list), 'json');
  const said = { resultType: 'complete', supportedVersions: [MODERN_VERSION], capabilities: { tools: {} } };
  return messageAnswer(
    JSON.stringify({ jsonrpc: '2.0', id, result: { ...said, ttlMs: 0, cacheScope: 'private' } }),
    'json',
  );
}

function answerRead(head: string, body: string, backend: string, style: AnswerStyle): string {
  if (!hasSession(head)) return emptyAnswer('400 Bad Request');
  if (!body.includes(READ_URI)) return emptyAnswer('422 Unprocessable Content');
  const tail = remembered(resourceTails, backend, () => resourceAnswerTail(backend, resourceUri));
  return messageAnswer(`{"jsonrpc":"2.0","id":${idOf(body)}${tail}`, style);
}

function hasSession(head: string): boolean {
  return /\r\nmcp-session-id:/i.test(head);
}

function idOf(body: string): string {
  const idStart = body.indexOf('"id":') + '"id":'.length;
  const comma = body.indexOf(',', idStart);
  return body.slice(idStart, comma === -1 ? body.indexOf('}', idStart) : comma);
}

function remembered<Key, Value>(values: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  const value = create();
  values.set(key, value);
  return value;
}

/** Answers everything but calls: rare, so it may parse. */
function answerOther(body: string, style: AnswerStyle, toolCount: number, offer: string): string {
  if (confirmations.take(body)) return emptyAnswer('202 Accepted');
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  if (id === undefined || method === undefined) return emptyAnswer('202 Accepted');
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'bench-backend', version: '1.0.0' };
      const declared = capabilities[offer] ?? { tools: {} };
      const result = { protocolVersion: '2025-11-25', capabilities: declared, serverInfo };
      return messageAnswer(
        JSON.stringify({ jsonrpc: '2.0', id, result }),
        style,
        `mcp-session-id: ${randomUUID()}\r\n`,
      );
    }
    case 'tools/list':
      return messageAnswer(
        listAnswer(
          JSON.stringify(id),
          remembered(toolLists, toolCount, () => (toolCount === 1 ? CALLED_TOOLS : toolTexts(toolCount))),
        ),
        style,
      );
    case 'ping':
      return messageAnswer(JSON.stringify({ jsonrpc: '2.0', id, result: {} }), style);
    default:
      return messageAnswer(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }),
        style,
      );
  }
}

/** Messages are ASCII, so a character is a byte. An event stream is chunked, as real servers send it. */
function messageAnswer(message: string, style: AnswerStyle, headers = '', status = '200 OK'): string {
  if (style === 'json') {
    return `HTTP/1.1 ${status}\r\n${headers}content-type: application/json\r\ncontent-length: ${message.length}\r\n\r\n${message}`;
  }
  const events = asEventStream(message);
  // `x-accel-buffering` makes nginx pass events on as they come, as it must in front of any event stream.
  return (
    `HTTP/1.1 200 OK\r\n${headers}content-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n` +
    `transfer-encoding: chunked\r\n\r\n${events.length.toString(16)}\r\n${events}\r\n0\r\n\r\n`
  );
}

/** The head of an event stream that stays open, and a comment; nothing follows. */
const STANDING_STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n' +
  '3\r\n:\n\n\r\n';

function emptyAnswer(status: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`;
}

// Without its parent it has no purpose.
process.on('disconnect', () => process.exit());
// The ports to listen on are the arguments; 0 means any free one.
const ports = await Promise.all(process.argv.slice(2).map((word) => listen(Number(word))));
// When started by hand, there is no parent to report to.
process.send?.(ports);
