// The built control plane as a child process, and its callers: every response that they get is checked against the OpenAPI
// document that the same process serves.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { ApiContract, type ApiDocument } from './api-contract.js';
import { startProgram, storeOptionWords, verifyWith, type Gateway, type ProgramSetup } from './gateway.js';
import { createKeyPair, type KeyPair } from './keys.js';
import { send, type HeaderList, type HttpAnswer } from './raw-http.js';
import { startRedis } from './redis.js';
import { createScratchDirectory } from './scratch-directory.js';
import { mint, type TokenRequest } from './tokens.js';

export interface ControlPlaneSetup extends ProgramSetup {
  /** An embedded store of its own unless given. */
  readonly storeOptions?: StoreOptions;
  /** Created unless given. */
  readonly key?: KeyPair;
  /** Any other options; no rate limit unless they name one. */
  readonly options?: readonly string[];
}

export interface ApiRequest {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, and without a content type unless the headers name one. */
  readonly text?: string | Uint8Array;
  readonly headers?: HeaderList;
}

export async function startControlPlane(
  t: Pick<Test, 'teardown'>,
  setup: ControlPlaneSetup = {},
): Promise<ControlPlane> {
  const { storeOptions = embeddedStore(t), key = createKeyPair(t), options = [] } = setup;
  const words = ['control-plane', '--address', '127.0.0.1:0', ...storeOptionWords(storeOptions), ...verifyWith(key)];
  // A healthy server may be slow to answer on a busy machine.
  const defaults = ['--rate-limit', '0', '--probe-timeout', '60s'];
  const program = await startProgram(t, [...words, ...defaults, ...options], setup);
  const document = (await send(program.origin, { method: 'GET', path: '/openapi.json', headers: [] })).json();
  return new ControlPlane(program, storeOptions, key, new ApiContract(document as ApiDocument));
}

export class ControlPlane {
  readonly program: Gateway;
  readonly storeOptions: StoreOptions;
  readonly key: KeyPair;
  readonly contract: ApiContract;

  constructor(program: Gateway, storeOptions: StoreOptions, key: KeyPair, contract: ApiContract) {
    this.program = program;
    this.storeOptions = storeOptions;
    this.key = key;
    this.contract = contract;
  }

  get origin(): string {
    return this.program.origin;
  }

  async token(subject: string, overrides: Partial<TokenRequest> = {}): Promise<string> {
    return mint({ sub: subject, key: this.key.privateKey, algorithm: this.key.algorithm, ...overrides });
  }

  /** A caller with a good token. */
  async caller(t: Test, subject = newName('subject')): Promise<ApiCaller> {
    return new ApiCaller(t, this, await this.token(subject), subject);
  }

  /** A caller without a token. */
  stranger(t: Test): ApiCaller {
    return new ApiCaller(t, this, undefined, '');
  }
}

export class ApiCaller {
  readonly subject: string;
  readonly token: string | undefined;
  readonly #t: Test;
  readonly #controlPlane: ControlPlane;

  constructor(t: Test, controlPlane: ControlPlane, token: string | undefined, subject: string) {
    this.#t = t;
    this.#controlPlane = controlPlane;
    this.token = token;
    this.subject = subject;
  }

  async get(path: string, request?: ApiRequest): Promise<HttpAnswer> {
    return this.send('GET', path, request);
  }

  async post(path: string, body?: unknown): Promise<HttpAnswer> {
    return this.send('POST', path, body === undefined ? {} : { body });
  }

  async put(path: string, body: unknown): Promise<HttpAnswer> {
    return this.send('PUT', path, { body });
  }

  async delete(path: string): Promise<HttpAnswer> {
    return this.send('DELETE', path);
  }

  /** Headers given in the request replace the default ones. */
  async send(method: string, path: string, { body, text, headers = [] }: ApiRequest = {}): Promise<HttpAnswer> {
    const sent = body === undefined ? text : JSON.stringify(body);
    const usual: [string, string][] = [];
    if (this.token !== undefined) usual.push(['authorization', `Bearer ${this.token}`]);
    if (body !== undefined) usual.push(['content-type', 'application/json']);
    const given = new Set(headers.map(([name]) => name.toLowerCase()));
    const answer = await send(this.#controlPlane.origin, {
      method,
      path,
      headers: [...usual.filter(([name]) => !given.has(name)), ...headers],
      ...(sent === undefined ? {} : { body: sent }),
    });
    const faults = method === 'HEAD' ? [] : this.#controlPlane.contract.faultsOf(method, path, answer);
    this.#t.same(faults, [], `${method} ${path}: ${answer.status}, as the OpenAPI document says`);
    return answer;
  }
}

/** The text of the error envelope. */
export function detailOf(answer: HttpAnswer): string {
  const body = answer.json() as { detail?: unknown };
  if (typeof body.detail !== 'string') throw new Error(`not the error envelope: ${answer.text}`);
  return body.detail;
}

/** A name that nothing else uses. */
export function newName(kind: string): string {
  return `${kind}-${randomBytes(6).toString('hex')}`;
}

/**
 * Runs the rows against a control plane on either store, and checks that nothing but log lines was written. Unless the environment says
 * otherwise (`TEST_DEPLOYMENTS`), only Redis is wanted, where every swap goes through another process.
 */
export async function forEachStore(
  t: Test,
  setup: Omit<ControlPlaneSetup, 'storeOptions'>,
  rows: (t: Test, controlPlane: ControlPlane) => Promise<void>,
): Promise<void> {
  const { TEST_DEPLOYMENTS: wanted = 'one' } = process.env;
  const stores: Record<string, StoreOptions> = {};
  if (wanted !== 'one') stores['embedded store'] = embeddedStore(t);
  if (wanted !== 'others') stores['Redis'] = (await startRedis(t)).storeOptions;
  t.jobs = 2;
  await Promise.all(
    Object.entries(stores).map(([name, storeOptions]) =>
      t.test(name, async (t) => {
        const controlPlane = await startControlPlane(t, { ...setup, storeOptions });
        await rows(t, controlPlane);
        t.same(controlPlane.program.strayLines, [], 'standard output holds JSON lines alone');
        t.equal(controlPlane.program.errorOutput, '', 'standard error is empty');
      }),
    ),
  );
}

function embeddedStore(t: Pick<Test, 'teardown'>): StoreOptions {
  return { kind: 'embedded', path: join(createScratchDirectory(t), 'store') };
}
