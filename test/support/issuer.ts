// A small authorization server: it publishes its keys over HTTP, renews them, and can be slow, down or answer nonsense.
import { SignJWT } from 'jose/jwt/sign';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface IssuerKey {
  /** Neither its tokens nor its publication name a key without one. */
  readonly kid: string | undefined;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export function createIssuerKey(kid: string | undefined): IssuerKey {
  return { kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

export class Issuer {
  readonly origin: string;
  /** All are published; the first one signs. */
  keys: readonly IssuerKey[] = [createIssuerKey('one')];
  /** The paths that were requested. */
  readonly asked: string[] = [];
  /** Answers in place of the issuer, when set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined = undefined;
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.origin = `http://127.0.0.1:${this.#port}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.asked.push(request.url ?? '');
      if (this.answer === undefined) this.#serve(request, response);
      else this.answer(request, response);
    });
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<Issuer> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const issuer = new Issuer(server);
    t.teardown(() => issuer.stop());
    return issuer;
  }

  get jwksUrl(): string {
    return `${this.origin}/jwks`;
  }

  get fetchCount(): number {
    return this.asked.filter((path) => path === '/jwks').length;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Listens again at the same address as before. */
  async comeBack(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(this.#port, '127.0.0.1', resolve));
  }

  /** @param claims additional claims, or replacements for the usual ones. */
  async token(sub: string, claims: Readonly<Record<string, unknown>> = {}, key = this.keys[0]): Promise<string> {
    if (key === undefined) throw new Error('the issuer has no key');
    const nowS = Math.floor(Date.now() / 1_000);
    const usual = { sub, iss: this.origin, aud: 'mcpgateway-api', iat: nowS, exp: nowS + 600 };
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg: 'ES256', ...(key.kid !== undefined && { kid: key.kid }) })
      .sign(key.privateKey);
  }

  #serve({ url }: IncomingMessage, response: ServerResponse): void {
    const keys = this.keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' }));
    const documents: Readonly<Record<string, unknown>> = { '/jwks': { keys } };
    const document = documents[url ?? ''];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? { error: 'not found' }));
  }
}
