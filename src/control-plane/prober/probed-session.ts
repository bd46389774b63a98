// The upstream session of a probe.
import * as z from 'zod';
import { readBackendError } from '../../mcp/index.js';
import { NO_METADATA, type RequestMetadata } from '../../http-client/index.js';
import { type CompiledBackend, compileUserConfig } from '../../user-config/index.js';
import {
  BackendStream,
  type ClientIntroduction,
  Discovery,
  type HandshakeResult,
  OWN_INTRODUCTION,
  type RpcRequest,
  type UpstreamDependencies,
  UpstreamSession,
} from '../../upstream/index.js';
import type { UpstreamOptions } from '../../config/index.js';
import type { ServerTransport } from '../records/server-record.js';
import { ProbeFault, probeFaultOf } from './probe-fault.js';

type Members = Readonly<Record<string, unknown>>;

export interface ProbedServer {
  readonly capabilities: Members;
  /** Sends a request. Rejects with a `ProbeFault`, whose kind is `rpc-error` when the server responds with an error. */
  ask<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result>;
}

const introductionWith = (capabilities: string) => ({ ...OWN_INTRODUCTION, capabilities: Buffer.from(capabilities) });

/** How a probe introduces itself: with all capabilities of clients, because some servers hide tools from clients that lack one. */
export const INTRODUCTION = introductionWith(
  '{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}},"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}',
);
/** For servers that refuse members which they do not know, as those with older versions of the SDK for Java do. */
export const BARE_INTRODUCTION = introductionWith('{"elicitation":{},"sampling":{},"roots":{}}');

/** Stands for the subject, virtual host and backend of a probe. No token has an empty subject. */
const PROBE_NAME = '';
/** Accounts for no memory: each probe has bounds of its own. */
const UNBOUNDED_MEMORY = { tryKeepText: () => 0, hasRoomFor: () => true, keep: () => undefined, drop: () => undefined };

/** Whatever is not an object counts as absent, as it does in calls: servers send `null`, or `[]` for an empty map. */
const optionalObjectSchema = z.record(z.string(), z.unknown()).optional().catch(undefined);
const handshakeSchema = z.looseObject({
  capabilities: optionalObjectSchema,
  serverInfo: optionalObjectSchema,
  _meta: z.looseObject({ 'io.modelcontextprotocol/serverInfo': optionalObjectSchema }).optional().catch(undefined),
});
const modernResultSchema = z.looseObject({ resultType: z.literal('complete').optional() });

/** @param ownHeaders names and values in turn. These headers take precedence over cookies that the server sets. */
export function probedBackend(
  url: string,
  transport: ServerTransport,
  ownHeaders: readonly string[],
  mode: UpstreamOptions['mode'],
): CompiledBackend {
  const allowAll = { allowed_tool_names: [], allowed_prompt_names: [], allowed_resource_names: [] };
  const backend = { url, transport, ...allowAll, passthrough_headers: ownHeaders.filter((_, at) => at % 2 === 0) };
  const host = { exposure: 'all', backends: new Map([[PROBE_NAME, backend]]) } as const;
  const { virtualHosts } = compileUserConfig({ virtual_hosts: new Map([[PROBE_NAME, host]]) }, mode);
  return virtualHosts.get(PROBE_NAME)!.backends.get(PROBE_NAME)!;
}

export class ProbedSession extends UpstreamSession implements ProbedServer {
  serverInfo: Members = {};
  capabilities: Members = {};
  #handshakeResult: Buffer | undefined;
  #abortRequest: (() => void) | undefined;
  #stream: BackendStream | undefined;

  constructor(dependencies: UpstreamDependencies, backend: CompiledBackend, introduction: ClientIntroduction) {
    super(dependencies, PROBE_NAME, backend, introduction, UNBOUNDED_MEMORY);
  }

  /** Opens the session and reads what the server says about itself. Rejects with a `ProbeFault`. */
  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.whenOpen(NO_METADATA, (fault) => (fault === undefined ? resolve() : reject(probeFaultOf(fault))));
    });
    const handshake = handshakeSchema.parse(JSON.parse(String(this.#handshakeResult)));
    this.capabilities = handshake.capabilities ?? {};
    this.serverInfo = handshake.serverInfo ?? handshake._meta?.['io.modelcontextprotocol/serverInfo'] ?? {};
  }

  protected override onHandshake(result: HandshakeResult, metadata: RequestMetadata): void {
    super.onHandshake(result, metadata);
    this.#handshakeResult = result.resultJson;
  }

  async ask<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result> {
    try {
      return await this.#askOnce(method, params, schema);
    } catch (error) {
      // Some servers answer on their own stream, to which clients listen.
      const mayAnswerThere = error instanceof ProbeFault && error.kind === 'answer-invalid' && !this.isModern;
      if (!mayAnswerThere || this.#stream !== undefined || !(await this.#tryListen())) throw error;
      return this.#askOnce(method, params, schema);
    }
  }

  async #tryListen(): Promise<boolean> {
    return this.#runUntilClosed<boolean>((resolve) => {
      this.#stream = new BackendStream({
        deadlines: this.context.deadlines,
        memory: UNBOUNDED_MEMORY,
        requestStream: (from, handler) => this.listen(from, NO_METADATA, handler),
        tryFollowRedirect: (...head) => this.tryFollowRedirect(...head),
        onOutcome: (isStream) => {
          this.setStrayAnswerMemory(isStream ? UNBOUNDED_MEMORY : undefined);
          resolve(isStream);
        },
        onMessage: (bytes, message) => this.answerWithoutClient(bytes, message, NO_METADATA),
        onAnswer: (bytes, message) => void this.strayAnswers?.take(bytes, message),
        onUnclearStatus: () => undefined,
      });
      return { abort: () => undefined };
    });
  }

  async #askOnce<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result> {
    const id = this.context.ownIds.next();
    const message = this.ownRequest(id, method, JSON.stringify(params).slice(1, -1));
    const { initializeTimeoutMs } = this.context.options;
    const result = await this.#runUntilClosed<Buffer>((resolve, reject) =>
      this.request(message, { bytes: id, start: 0, end: id.length }, NO_METADATA, initializeTimeoutMs, false, {
        onAnswer: (bytes, { isError, bodyStart, bodyEnd }) => {
          const body = bytes.subarray(bodyStart, bodyEnd);
          if (!isError) return resolve(body);
          // The code in a server's error may be any value. The fault repeats only an integer.
          const { code } = readBackendError(body);
          reject(new ProbeFault('rpc-error', Number.isInteger(code) ? String(code) : undefined));
        },
        onMessage: (bytes, message) => this.answerWithoutClient(bytes, message, NO_METADATA),
        onFault: (fault) => reject(probeFaultOf(fault)),
      }),
    );
    const value: unknown = JSON.parse(result.toString());
    return schema.parse(this.isModern ? modernResultSchema.parse(value) : value);
  }

  /** Whether a server with sessions also works without them. False if the server does not say so within `withinMs`. */
  async isAlsoModern(withinMs: number): Promise<boolean> {
    const plan = { ...this.openingPlan(NO_METADATA), dueAtMs: this.context.nowMs() + withinMs };
    const isModern = this.#runUntilClosed<boolean>(
      (resolve) => new Discovery(this.context, plan, { onOpen: () => resolve(true), onFault: () => resolve(false) }),
    );
    return isModern.catch(() => false);
  }

  async #runUntilClosed<Answer>(
    ask: (resolve: (answer: Answer) => void, reject: (fault: ProbeFault) => void) => Pick<RpcRequest, 'abort'>,
  ): Promise<Answer> {
    if (this.state !== 'open') throw new ProbeFault('session-lost');
    return new Promise<Answer>((resolve, reject) => {
      const request = ask(resolve, reject);
      this.#abortRequest = () => {
        request.abort();
        reject(new ProbeFault('session-lost'));
      };
    }).finally(() => (this.#abortRequest = undefined));
  }

  /** Ends the session, and the request in progress. */
  override close(...args: Parameters<UpstreamSession['close']>): void {
    this.#abortRequest?.();
    this.#stream?.close();
    super.close(...args);
  }
}
