// The ids under which backends' requests are sent to a client. Each id contains the backend's name and the backend's own id, so that
// any process that gets the client's response can pass it on. A seal over the whole id, with a key that no client has, keeps a client
// from answering a request it never got. Two processes never issue the same id in one session. Cold path: without such requests, no seals.
//
// The key is the id that the backend gave its session: another session, or its successor, has another key. A backend without sessions
// gives no id. Its requests are sealed with a secret of our session, which is part of the session's record, and with the time: a backend
// that restarts may use the same id for a request to another client.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { limits } from '../../shared/index.js';
import type { UpstreamSession } from '../../upstream/index.js';

/**
 * Answers forwarded to a backend for requests that another process sent to a session's client, remembered so that each is forwarded once.
 * Beyond that, the oldest is forgotten.
 */
export const ANSWERED_IDS_KEPT_MAX = 256;

/** What is needed to pass the client's response to the backend that asked. */
export interface AskedRequest {
  readonly upstream: UpstreamSession;
  /** The backend's own id, as JSON. */
  readonly backendId: Buffer;
  readonly asksForTask: boolean;
  /** Key of the request's progress token; `undefined` where it is not known. */
  readonly tokenKey?: string | undefined;
}

/** Bytes of the random tag that names the process which issued the id: four characters in base64url. */
const TAG_BYTES = 3;
/** Bytes of the seal: sixteen characters in base64url. */
const SEAL_BYTES = 12;
/** `<number>[t][~<time>].<tag><seal>:<backend's name>:<backend's id>`, with `t` if the request asks for a task. */
const FORM = /^(\d+(t?)(?:~([\da-z]+))?\.([\w-]{4}))([\w-]{16}):/;
const TIME_BASE = 36;
const SECRET_BYTES = 16;

export class AskedRequestIds {
  readonly #sessionId: string;
  readonly #answerTimeoutMs: number;
  readonly #nowMs: () => number;
  readonly #processTag = randomBytes(TAG_BYTES).toString('base64url');
  #count = 0;
  /** Seals of other processes' ids whose responses this process has passed to the backends, oldest first. */
  #answered: Set<string> | undefined;
  #secret: string | undefined;

  /**
   * @param answerTimeoutMs how long another process accepts a response for a backend without sessions.
   * @param nowMs a clock that all processes share.
   */
  constructor(sessionId: string, answerTimeoutMs: number, nowMs: () => number = Date.now) {
    this.#sessionId = sessionId;
    this.#answerTimeoutMs = answerTimeoutMs;
    this.#nowMs = nowMs;
  }

  /** Known to every process that has the session, and to no client; `''` where a record of an older version has none. */
  get secret(): string {
    return (this.#secret ??= randomBytes(SECRET_BYTES).toString('base64url'));
  }

  set secret(secret: string) {
    this.#secret = secret;
  }

  /** Returns a new id, as JSON. */
  next({ upstream, backendId, asksForTask }: AskedRequest): Buffer {
    this.#count += 1;
    const time = hasSessionId(upstream) ? '' : `~${this.#nowMs().toString(TIME_BASE)}`;
    const head = `${this.#count}${asksForTask ? 't' : ''}${time}.${this.#processTag}`;
    const rest = `:${upstream.backend.name}:${backendId.toString()}`;
    return Buffer.from(JSON.stringify(`${head}${this.#sealOf(upstream, head, rest)}${rest}`));
  }

  /**
   * Finds the request that another process sent to the client under this id, in one of these upstream sessions. Each is found only once.
   * @param id as JSON.
   * @returns `lost` where another process may have sent the request but its backend cannot be told from here; `undefined` where
   * no process sent it, or it was already answered.
   */
  takeOthers(id: Buffer, upstreams: readonly UpstreamSession[]): AskedRequest | 'lost' | undefined {
    const text = String(JSON.parse(id.toString()));
    const [, head, task, time, tag, seal] = FORM.exec(text) ?? [];
    if (head === undefined || seal === undefined || tag === this.#processTag) return undefined;
    const rest = text.slice(head.length + seal.length);
    for (const upstream of upstreams) {
      const prefix = `:${upstream.backend.name}:`;
      if (!rest.startsWith(prefix) || !this.#hasKey(upstream, time)) continue;
      if (!isSame(this.#sealOf(upstream, head, rest), seal)) continue;
      const backendId = Buffer.from(rest.slice(prefix.length));
      // The id of a backend's session may be guessable, and then a seal can be forged: only a valid JSON-RPC id may go into a message.
      const isValid = backendId.length <= limits.backendRequestIdBytesMax && isId(backendId);
      return this.#noteAnswered(seal) && isValid ? { upstream, backendId, asksForTask: task !== '' } : undefined;
    }
    return 'lost';
  }

  /** Whether this process has the key of the seal, the client cannot know that key, and the id has not expired. */
  #hasKey(upstream: UpstreamSession, time: string | undefined): boolean {
    if (upstream.record === undefined) return false;
    if (hasSessionId(upstream)) return time === undefined;
    if (time === undefined || this.secret === '') return false;
    return this.#nowMs() - parseInt(time, TIME_BASE) <= this.#answerTimeoutMs;
  }

  #sealOf(upstream: UpstreamSession, head: string, rest: string): string {
    const { record, backend } = upstream;
    const { origin, path } = backend.target;
    const [key, address] = hasSessionId(upstream) ? [record?.sessionId ?? '', ''] : [this.secret, `${origin}${path} `];
    const seal = createHmac('sha256', key).update(`${this.#sessionId} ${address}${head}${rest}`);
    return seal.digest().toString('base64url', 0, SEAL_BYTES);
  }

  /** @returns false where this process has already passed on a response under this seal. */
  #noteAnswered(seal: string): boolean {
    this.#answered ??= new Set();
    if (this.#answered.has(seal)) return false;
    const [oldest] = this.#answered;
    if (oldest !== undefined && this.#answered.size >= ANSWERED_IDS_KEPT_MAX) this.#answered.delete(oldest);
    this.#answered.add(seal);
    return true;
  }
}

/** Whether the backend gave its session an id. Also true for a lost session, which cannot be answered in any case. */
function hasSessionId({ record }: UpstreamSession): boolean {
  return record?.sessionId !== '';
}

/** @param one,other must have the same length. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Whether the bytes are the id of a JSON-RPC message. */
export function isId(bytes: Buffer): boolean {
  try {
    const id: unknown = JSON.parse(bytes.toString());
    return typeof id === 'string' || typeof id === 'number';
  } catch {
    return false;
  }
}
