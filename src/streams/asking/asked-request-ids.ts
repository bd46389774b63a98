// The ids under which clients get backends' requests. Each contains the backend's name and the backend's own id, so that any process can
// forward the response. A seal with a key that no client has prevents responses to requests that the client never got. No id is issued
// twice in a session. Cold path: only backends' requests are sealed.
//
// The key is the id of the backend's session. For a backend without sessions, the key is a secret in the record of the client's session, and
// the time is sealed, too: after a restart, such a backend may use the same id for another client.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { tryParseJson, limits } from '../../shared/index.js';
import type { UpstreamSession } from '../../upstream/index.js';

/** Requests of other processes to which this one forwarded the response: they get no second one. Beyond that, the oldest is forgotten. */
export const ANSWERED_IDS_KEPT_MAX = 256;

export interface AskedRequest {
  readonly upstream: UpstreamSession;
  /** The id that the backend gave its request, as JSON. */
  readonly backendId: Buffer;
  readonly asksForTask: boolean;
  /** The key of the request's progress token, if known. */
  readonly progressKey?: string | undefined;
}

/** Bytes of the random tag by which a process knows the ids that it has issued: four characters in base64url. */
const TAG_BYTES = 3;
const SEAL_BYTES = 12;
/** The form of the ids: `<number>[t][~<time>].<tag><seal>:<backend's name>:<backend's id>`, with `t` if the request asks for a task. */
const ID_FORMAT = /^(\d+(t?)(?:~([\da-z]+))?\.([\w-]{4}))([\w-]{16}):/;
const TIME_BASE = 36;
const SECRET_BYTES = 16;

export class AskedRequestIds {
  readonly #sessionId: string;
  readonly #answerTimeoutMs: number;
  readonly #nowMs: () => number;
  readonly #processTag = randomBytes(TAG_BYTES).toString('base64url');
  #count = 0;
  /** Seals of other processes' ids whose responses were forwarded, oldest first. */
  #answered: Set<string> | undefined;
  #secret: string | undefined;

  /** @param answerTimeoutMs the time for responses to other processes' requests. @param nowMs a clock that all processes share. */
  constructor(sessionId: string, answerTimeoutMs: number, nowMs: () => number = Date.now) {
    this.#sessionId = sessionId;
    this.#answerTimeoutMs = answerTimeoutMs;
    this.#nowMs = nowMs;
  }

  /** The secret that seals ids, known to every process with the session, and to no client; `''` in a record of an older version. */
  get secret(): string {
    return (this.#secret ??= randomBytes(SECRET_BYTES).toString('base64url'));
  }

  set secret(secret: string) {
    this.#secret = secret;
  }

  issueId({ upstream, backendId, asksForTask }: AskedRequest): Buffer {
    this.#count += 1;
    const time = hasSessionId(upstream) ? '' : `~${this.#nowMs().toString(TIME_BASE)}`;
    const head = `${this.#count}${asksForTask ? 't' : ''}${time}.${this.#processTag}`;
    const rest = `:${upstream.backend.name}:${backendId.toString()}`;
    return Buffer.from(JSON.stringify(`${head}${this.#sealOf(upstream, head, rest)}${rest}`));
  }

  /**
   * Finds the request that another process sent under this id. Each is found once.
   * @param id as JSON.
   * @returns `lost` if another process may have sent it, but the backend is unknown here; `undefined` if no process sent it, or it was
   *   answered.
   */
  takeRequestOfOthers(id: Buffer, upstreams: readonly UpstreamSession[]): AskedRequest | 'lost' | undefined {
    const text = String(JSON.parse(id.toString()));
    const [, head, task, time, tag, seal] = ID_FORMAT.exec(text) ?? [];
    if (head === undefined || seal === undefined || tag === this.#processTag) return undefined;
    const rest = text.slice(head.length + seal.length);
    for (const upstream of upstreams) {
      const prefix = `:${upstream.backend.name}:`;
      if (!rest.startsWith(prefix) || !this.#hasKey(upstream, time)) continue;
      if (!timingSafeEqual(Buffer.from(this.#sealOf(upstream, head, rest)), Buffer.from(seal))) continue;
      const backendId = Buffer.from(rest.slice(prefix.length));
      // A backend's session id may be guessable, and a seal forged: only a valid id may go into a message.
      const isValid = backendId.length <= limits.backendRequestIdBytesMax && isId(backendId);
      return this.#noteAnswered(seal) && isValid ? { upstream, backendId, asksForTask: task !== '' } : undefined;
    }
    return 'lost';
  }

  /** Whether this process has the key, the client cannot have it, and the id has not expired. */
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

  /** Notes that a response was forwarded. @returns false if a response with this seal was forwarded before. */
  #noteAnswered(seal: string): boolean {
    this.#answered ??= new Set();
    if (this.#answered.has(seal)) return false;
    const [oldest] = this.#answered;
    if (oldest !== undefined && this.#answered.size >= ANSWERED_IDS_KEPT_MAX) this.#answered.delete(oldest);
    this.#answered.add(seal);
    return true;
  }
}

/** Whether the backend gave a session id. Also true for a lost session, which cannot be answered. */
function hasSessionId({ record }: UpstreamSession): boolean {
  return record?.sessionId !== '';
}

export function isId(bytes: Buffer): boolean {
  const id = tryParseJson(bytes);
  return typeof id === 'string' || typeof id === 'number';
}
