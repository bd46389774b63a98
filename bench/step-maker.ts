// The requests of one connection. The connection's number is the JSON-RPC id of its requests, so a misrouted response is a wrong body.
import type { BackendName } from './backend-names.js';
import type { Step } from './load-plan.js';
import type { Hop } from './scenario.js';
import { confirmationResult } from './confirmations.js';
import { modernBody, modernHeaders } from './modern-message.js';
import { resourceAnswer, resourceUri } from './resource.js';
import { addTool, asEventStream, confirmTool, modernAnswerTail, toolAnswer } from './tool.js';
import { listAnswer, toolTexts } from './tool-list.js';
import { virtualHosts, type VirtualHostName } from './virtual-hosts.js';

export class StepMaker {
  readonly #hop: Hop;
  readonly #virtualHost: VirtualHostName;
  readonly #connection: number;

  constructor(hop: Hop, virtualHost: VirtualHostName, connection: number) {
    this.#hop = hop;
    this.#virtualHost = virtualHost;
    this.#connection = connection;
  }

  /** Where a connection's plain hops go; each backend gets its share of the connections. */
  get homeBackend(): BackendName {
    return this.backend(this.#connection);
  }

  backend(number: number): BackendName {
    const { backends } = virtualHosts[this.#virtualHost];
    const backend = backends[number % backends.length];
    if (backend === undefined) throw new Error(`the virtual host ${this.#virtualHost} has no backends`);
    return backend;
  }

  /** @param capabilities of the caller. */
  opening(capabilities: unknown = {}): Step[] {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'switchyard-bench', version: '1.0.0' },
    };
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const base = { method: 'POST', path: this.#path(this.homeBackend) } as const;
    return [
      { ...base, body: initialize, session: 'opens', expectedBody: undefined },
      { ...base, body: initialized, session: 'carries', expectedBody: this.#emptyBody },
    ];
  }

  call(backend: BackendName, tool = addTool): Step {
    const params = `{"name":"${this.#toolName(backend, tool.name)}","arguments":${tool.arguments}}`;
    const id = String(this.#connection);
    // A result is the backend's own, whatever the caller's era.
    const answer =
      virtualHosts[this.#virtualHost].offer === 'modern' ? modernAnswer(backend, id) : toolAnswer(backend, id, tool);
    return {
      method: 'POST',
      path: this.#path(this.homeBackend),
      body: `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`,
      session: 'carries',
      ...this.#expected(answer, tool.text(backend)),
    };
  }

  /** A call of MCP 2026-07-28, which needs no session. */
  modernCall(backend: BackendName): Step {
    const name = this.#toolName(backend, addTool.name);
    return {
      method: 'POST',
      path: this.#path(this.homeBackend),
      headers: modernHeaders('tools/call', name),
      body: modernBody(this.#connection, 'tools/call', `"name":"${name}","arguments":${addTool.arguments}`),
      session: 'carries',
      ...this.#expected(modernAnswer(backend, String(this.#connection)), addTool.text(backend)),
    };
  }

  /** A stream of MCP 2026-07-28 that announces changed lists. */
  listening(): Step {
    return {
      method: 'POST',
      path: this.#path(this.homeBackend),
      headers: modernHeaders('subscriptions/listen'),
      body: modernBody(this.#connection, 'subscriptions/listen', '"notifications":{"toolsListChanged":true}'),
      session: 'carries',
      expectedBody: undefined,
    };
  }

  #toolName(backend: BackendName, tool: string): string {
    return this.#hop.kind === 'gateway' ? this.#hop.toolName(backend, tool) : tool;
  }

  /** A call that asks its caller something before it answers. */
  confirmation(backend: BackendName): Step {
    const { expectedPart: _, ...step } = this.call(backend, confirmTool);
    const expectedBody = toolAnswer(backend, String(this.#connection), confirmTool);
    return { ...step, expectedBody, reply: confirmationResult };
  }

  read(backend: BackendName): Step {
    const id = String(this.#connection);
    const uri = this.#hop.kind === 'gateway' ? this.#hop.uri(backend, resourceUri) : resourceUri;
    return {
      method: 'POST',
      path: this.#path(this.homeBackend),
      body: `{"jsonrpc":"2.0","id":${id},"method":"resources/read","params":{"uri":"${uri}"}}`,
      session: 'carries',
      ...this.#expected(resourceAnswer(backend, id, uri), `of ${backend};`),
    };
  }

  /** One list from a gateway; without one, the gateway's upstream requests: the list of each backend. */
  lists(): Step[] {
    const { backends, toolsPerBackend } = virtualHosts[this.#virtualHost];
    const hop = this.#hop;
    const id = String(this.#connection);
    if (hop.kind === 'plain') {
      const tools = toolTexts(toolsPerBackend);
      return backends.map((backend) => this.#list(this.#path(backend), listAnswer(id, tools)));
    }
    const tools = backends.flatMap((backend) => toolTexts(toolsPerBackend, hop.toolName(backend, '')));
    return [this.#list(this.#path(this.homeBackend), listAnswer(id, tools))];
  }

  closing(): Step {
    const path = this.#path(this.homeBackend);
    return { method: 'DELETE', path, body: undefined, session: 'carries', expectedBody: this.#emptyBody };
  }

  #list(path: string, answer: string): Step {
    const body = `{"jsonrpc":"2.0","id":${this.#connection},"method":"tools/list"}`;
    return { method: 'POST', path, body, session: 'carries', ...this.#expected(answer, '"tools":[') };
  }

  #expected(answer: string, part: string): Pick<Step, 'expectedBody' | 'expectedPart'> {
    if (this.#hop.kind === 'gateway' && this.#hop.answers === 'own') {
      return { expectedBody: undefined, expectedPart: part };
    }
    // A gateway answers with one JSON object when the backend's first event is the answer already (specification 2.2).
    const isStreamed = this.#hop.kind === 'plain' && virtualHosts[this.#virtualHost].style === 'event-stream';
    return { expectedBody: isStreamed ? asEventStream(answer) : answer };
  }

  get #emptyBody(): string | undefined {
    return this.#hop.kind === 'gateway' && this.#hop.answers === 'own' ? undefined : '';
  }

  #path(backend: BackendName): string {
    return this.#hop.kind === 'gateway'
      ? this.#hop.path(this.#virtualHost)
      : this.#hop.path(this.#virtualHost, backend);
  }
}

function modernAnswer(backend: BackendName, id: string): string {
  return `{"jsonrpc":"2.0","id":${id}${modernAnswerTail(backend, addTool)}`;
}
