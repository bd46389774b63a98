// A shim in front of the gateway for the conformance suite, which cannot send a token and uses bare names and URIs. It adds
// the token, and maps the names and URIs of one backend in both directions, also in the mirror headers; everything else
// passes unchanged, as it arrives.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeMirrored, encodeMirrored, isJson, type Json } from '../support/modern-ladder.js';

export interface Shim {
  readonly port: number;
  /** The endpoint for the suite. */
  readonly url: string;
  close(): void;
}

/** @param target the endpoint behind the shim; asked for when the first request comes. */
export async function startShim(backend: string, target: () => { url: string; token: string }): Promise<Shim> {
  const names = new Names(backend);
  const server = createServer((request, response) => void forward(names, target(), request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function forward(
  names: Names,
  target: { readonly url: string; readonly token: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers: IncomingMessage['headers'] = { authorization: `Bearer ${target.token}`, ...request.headers };
  const body = mapJson(Buffer.concat(chunks), (message) => {
    names.toGateway(message);
    names.ofMirror(headers, message);
  });
  delete headers['content-length'];
  delete headers['transfer-encoding'];
  if (body.length > 0) headers['content-length'] = String(body.length);
  const upstream = httpRequest(target.url, { method: request.method, headers });
  response.on('close', () => upstream.destroy());
  upstream.on('error', () => response.destroy());
  upstream.on('response', (answer) => {
    const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true;
    const answerHeaders = { ...answer.headers };
    delete answerHeaders['content-length'];
    delete answerHeaders['transfer-encoding'];
    response.writeHead(answer.statusCode ?? 500, answerHeaders);
    response.flushHeaders();
    if (isStream) mapStream(names, answer, response);
    else void mapWhole(names, answer, response);
  });
  upstream.end(body);
}

async function mapWhole(names: Names, answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer);
  } catch {
    response.destroy();
    return;
  }
  response.end(mapJson(Buffer.concat(chunks), (message) => names.toClient(message)));
}

/** Maps line by line; a message is one line. */
function mapStream(names: Names, answer: IncomingMessage, response: ServerResponse): void {
  let rest = '';
  answer.setEncoding('utf8');
  answer.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice(5).trim() : '';
      const mapped = data.startsWith('{')
        ? `data: ${String(mapJson(Buffer.from(data), (message) => names.toClient(message)))}`
        : line;
      response.write(`${mapped}\n`);
    }
  });
  answer.on('end', () => response.end(rest));
  answer.on('error', () => response.destroy());
}

function mapJson(bytes: Buffer, map: (message: Json) => void): Buffer {
  let message: unknown;
  try {
    message = JSON.parse(String(bytes));
  } catch {
    return bytes;
  }
  if (typeof message !== 'object' || message === null) return bytes;
  map(message as Json);
  return Buffer.from(JSON.stringify(message));
}

class Names {
  readonly #name: string;
  readonly #uri: string;

  constructor(backend: string) {
    this.#name = `${backend}-`;
    this.#uri = `${backend}+`;
  }

  toGateway({ method, params }: Json): void {
    if (!isJson(params)) return;
    if (method === 'tools/call' || method === 'prompts/get') add(params, 'name', this.#name);
    if (typeof method === 'string' && method.startsWith('resources/')) add(params, 'uri', this.#uri);
    if (method === 'subscriptions/listen') mapUris(params, (uri) => this.#uri + uri);
    if (method === 'completion/complete' && isJson(params['ref'])) {
      add(params['ref'], 'name', this.#name);
      add(params['ref'], 'uri', this.#uri);
    }
  }

  /** `Mcp-Name`, which must agree with the body; a value that cannot be decoded is left unchanged. */
  ofMirror(headers: IncomingMessage['headers'], { method }: Json): void {
    const name = headers['mcp-name'];
    const decoded = typeof name === 'string' ? decodeMirrored(name) : undefined;
    if (decoded === undefined) return;
    headers['mcp-name'] = encodeMirrored((method === 'resources/read' ? this.#uri : this.#name) + decoded);
  }

  toClient({ method, params, result, error }: Json): void {
    if (method === 'notifications/subscriptions/acknowledged' && isJson(params))
      mapUris(params, (uri) => stripped(uri, this.#uri));
    if (method === 'notifications/resources/updated' && isJson(params)) strip(params, 'uri', this.#uri);
    if (isJson(error) && isJson(error['data'])) strip(error['data'], 'uri', this.#uri);
    if (!isJson(result)) return;
    for (const tool of members(result['tools'])) strip(tool, 'name', this.#name);
    for (const prompt of members(result['prompts'])) strip(prompt, 'name', this.#name);
    for (const resource of members(result['resources'])) strip(resource, 'uri', this.#uri);
    for (const template of members(result['resourceTemplates'])) strip(template, 'uriTemplate', this.#uri);
    for (const content of members(result['contents'])) strip(content, 'uri', this.#uri);
    for (const content of members(result['content'])) this.#ofContent(content);
    for (const { content } of members(result['messages'])) if (isJson(content)) this.#ofContent(content);
  }

  #ofContent(content: Json): void {
    if (content['type'] === 'resource_link') strip(content, 'uri', this.#uri);
    if (isJson(content['resource'])) strip(content['resource'], 'uri', this.#uri);
  }
}

function members(list: unknown): readonly Json[] {
  return Array.isArray(list) ? list.filter(isJson) : [];
}

function add(object: Json, member: string, prefix: string): void {
  if (typeof object[member] === 'string') object[member] = prefix + object[member];
}

function strip(object: Json, member: string, prefix: string): void {
  const value = object[member];
  if (typeof value === 'string') object[member] = stripped(value, prefix);
}

function stripped(value: string, prefix: string): string {
  return value.startsWith(prefix) ? value.slice(prefix.length) : value;
}

/** The URIs that `subscriptions/listen` asks for, or that its acknowledgement grants. */
function mapUris({ notifications }: Json, map: (uri: string) => string): void {
  if (!isJson(notifications) || !Array.isArray(notifications['resourceSubscriptions'])) return;
  notifications['resourceSubscriptions'] = notifications['resourceSubscriptions'].map((uri) => map(String(uri)));
}
