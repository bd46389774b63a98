// Sends requests to a running control plane, explains its refusals to people, and runs the commands that need a control plane.
import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import type { controlPlaneClientOptions, ValuesOf } from '../config/index.js';
import { readBodyText, exitStatus, isObject, tryParseJson, refusals } from '../shared/index.js';
import { CliFault, exitStatusOf, print, printResult, type CommandResult } from './command-result.js';
import { callerView, type Columns } from './views.js';

// Advice about a token that the control plane refuses without a reason (specification 2.2). The token's claims can be read without a key;
// if they do not explain the refusal, the signature is probably wrong.

type Claims = Readonly<Record<string, unknown>>;

/** What to do about the refused token. The text quotes nothing of the token. */
export function tokenAdvice(token: string, nowMs: number): string {
  const claims = claimsOf(token);
  if (claims === undefined) return 'it is not a JWT; set SWITCHYARD_TOKEN to one, as minted by `switchyard token`';
  const fault = claimsFault(claims, nowMs);
  if (fault !== undefined) return `${fault}; put a new token into SWITCHYARD_TOKEN`;
  return "most likely its signature does not fit the control plane's key, or it is for another issuer or audience (`iss`, `aud`); put a token into SWITCHYARD_TOKEN that is signed with the private key (or the secret) that the control plane's --token-verification-… options belong to; its log says what is wrong (`cause`)";
}

function claimsFault({ sub, exp, nbf }: Claims, nowMs: number): string | undefined {
  if (typeof sub !== 'string' || sub === '') return 'it has no subject (`sub`)';
  if (typeof exp !== 'number') return 'it has no expiry (`exp`)';
  if (typeof nbf === 'number' && nbf * 1_000 > nowMs) return 'it is not valid yet (`nbf`), if the clock here is right';
  return undefined;
}

/** The token's claims, not verified; `undefined` if the token is not a JWT. */
function claimsOf(token: string): Claims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.map((part) => tryParseJson(Buffer.from(part, 'base64url')));
  return isObject(header) && isObject(claims) ? claims : undefined;
}

/** How long the answer to a command may take: long, because the control plane may probe a server first. */
const COMMAND_ANSWER_MS_MAX = 120_000;

type RequestMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** How often a command waits and sends its request again when the rate limit refuses it (429). */
const RATE_LIMIT_RETRIES_MAX = 10;
/** The longest of these waits. If the control plane asks for a longer one, the command fails. */
const RATE_LIMIT_WAIT_S_MAX = 120;

const errorShape = z.object({ detail: z.string() });

export class ControlPlaneConnection {
  readonly #url: string;
  readonly #token: string;
  /** How many user configs were still to be written when the control plane answered the last request. */
  unpublishedCount = 0;

  /** @param url without a trailing slash. */
  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /**
   * @param path percent-encoded (`pathOf`).
   * @returns the response's JSON; `undefined` if it has none. Rejects with a CliFault.
   */
  async request(method: RequestMethod, path: string, body?: unknown): Promise<unknown> {
    return (await this.#exchange(method, path, body)).answer;
  }

  /**
   * Reads a resource, and changes it unless another client changes it in between.
   * @param change makes the new resource from the one that was read.
   * @returns the changed resource. Rejects with a CliFault.
   */
  async update(
    path: string,
    change: (thing: Readonly<Record<string, unknown>>) => object,
    query = '',
  ): Promise<unknown> {
    const { answer, tag } = await this.#exchange('GET', path);
    return (await this.#exchange('PUT', path + query, change(Object(answer) as Record<string, unknown>), tag)).answer;
  }

  /** @returns the items of all pages. Rejects with a CliFault. */
  async list(path: string): Promise<unknown[]> {
    const items: unknown[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const { answer, link } = await this.#exchange('GET', next);
      if (!Array.isArray(answer)) throw this.#unavailable('does not respond like a control plane', undefined);
      for (const item of answer) items.push(item);
      next = /^<(\/[^>]*)>; rel="next"$/.exec(link)?.[1];
    }
    return items;
  }

  /** @param tag the version to change (`if-match`); `''` for any. @returns the JSON, and `link` and `etag` headers; `''` if missing. */
  async #exchange(method: RequestMethod, path: string, body?: unknown, tag = '') {
    let { response, text } = await this.#fetch(method, path, body, tag);
    // A request that the rate limit refuses was not carried out, so it may be sent again.
    for (let count = 0; response.status === 429 && count < RATE_LIMIT_RETRIES_MAX; count += 1) {
      const waitS = Number(response.headers.get('retry-after') ?? NaN);
      if (!(waitS <= RATE_LIMIT_WAIT_S_MAX)) break;
      await setTimeout(waitS * 1_000);
      ({ response, text } = await this.#fetch(method, path, body, tag));
    }
    const answer = tryParseJson(text);
    if (answer === undefined && text !== '')
      throw this.#unavailable('does not respond like a control plane', undefined);
    this.unpublishedCount = Number(response.headers.get('switchyard-unpublished') ?? 0);
    const { headers } = response;
    if (response.ok) return { answer, link: headers.get('link') ?? '', tag: headers.get('etag') ?? '' };
    const { detail } = errorShape.safeParse(answer).data ?? {};
    if (detail === undefined || detail === refusals.pathUnknown.message)
      throw this.#unavailable(`does not respond like a control plane (HTTP status ${response.status})`, undefined);
    throw new CliFault(exitStatusOf(response.status), this.#adviceFor(response.status, detail));
  }

  async #fetch(method: RequestMethod, path: string, body: unknown, tag: string) {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (tag !== '') headers['if-match'] = tag;
    const signal = AbortSignal.timeout(COMMAND_ANSWER_MS_MAX);
    const sent = body === undefined ? null : JSON.stringify(body);
    let response: Response | undefined;
    try {
      // A redirect would hand the token to another server.
      response = await fetch(this.#url + path, { method, headers, body: sent, signal, redirect: 'error' });
      return { response, text: await readBodyText(response, signal) };
    } catch (error) {
      if (signal.aborted) throw this.#unavailable(`did not respond within ${COMMAND_ANSWER_MS_MAX / 1_000} s`, error);
      if (response !== undefined) throw this.#unavailable('closed the connection in the middle of its response', error);
      throw this.#unavailable(`cannot be reached (${reasonOf(error)})`, error);
    }
  }

  #adviceFor(status: number, detail: string): string {
    if (status !== 401) return detail;
    const isInvalid = detail === refusals.tokenInvalid.message;
    return `${detail}: ${isInvalid ? tokenAdvice(this.#token, Date.now()) : 'put a new token into SWITCHYARD_TOKEN'}`;
  }

  #unavailable(words: string, cause: unknown): CliFault {
    const advice = 'start it with `switchyard control-plane`, or give its --control-plane-url';
    return new CliFault(exitStatus.unavailable, `the control plane at ${this.#url} ${words}; ${advice}`, cause);
  }
}

export function pathOf(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

export interface CommandContext {
  readonly connection: ControlPlaneConnection;
  readonly columns: Columns;
  /** Prints text while the command is still running; with `--json`, does nothing. */
  readonly print: (text: string) => Promise<void>;
}

/** Runs a command and prints its result or fault. @returns the program's exit status, once everything is printed. */
export async function runControlPlaneCommand(
  { controlPlaneUrl, token, isJson }: ValuesOf<typeof controlPlaneClientOptions>,
  perform: (context: CommandContext) => Promise<CommandResult>,
): Promise<number> {
  const connection = new ControlPlaneConnection(controlPlaneUrl, token);
  const { columns } = process.stdout;
  const printPart = async (text: string): Promise<void> => (isJson ? undefined : print(process.stdout, text));
  const status = await printResult(isJson, () => perform({ connection, columns, print: printPart }));
  const { unpublishedCount } = connection;
  if (unpublishedCount > 0) {
    const words = `done, but ${unpublishedCount} user configs are still being written`;
    await print(process.stderr, `switchyard: ${words}\n`);
  }
  return status;
}

export async function whoami(_action: object, { connection }: CommandContext): Promise<CommandResult> {
  const answer = await connection.request('GET', '/whoami');
  return { answer, text: callerView(answer) };
}
