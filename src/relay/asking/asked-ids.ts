// The ids under which backends' requests are put to a client: each names the backend and its own id, so that whichever process
// gets the client's answer can pass it on. A seal over all of it, whose key no client has, keeps a client from answering what
// it was never asked. Ids of two processes in one session are never alike. Cold: where no backend asks, nothing is sealed.
//
// The key is the backend's name of its session: another session, or its successor, seals otherwise. A backend without sessions
// gives no name. What it asks is sealed with a secret of our session's, which goes from process to process with its record, and
// with the time: a backend that begins anew may ask somebody else under the same id.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { limits } from '../../shared/limits.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

/** What an answer needs to find its way. */
export interface AskedRequest {
  readonly upstream: UpstreamSession;
  /** The backend's own, as JSON. */
  readonly backendId: Buffer;
  readonly asksForTask: boolean;
  /** Of its progress, where that is known. */
  readonly tokenKey?: string | undefined;
}

/** Four characters: whose numbers they are. */
const ORIGIN_BYTES = 3;
/** Sixteen characters. */
const SEAL_BYTES = 12;
/** The number, the form and the time, the origin, the seal; behind it the backend's name and its id. */
const FORM = /^(\d+(t?)(?:~([\da-z]+))?\.([\w-]{4}))([\w-]{16}):/;
const TIME_BASE = 36;
const SECRET_BYTES = 16;

export class AskedIds {
  readonly #sessionId: string;
  readonly #answerTimeoutMs: number;
  readonly #nowMs: () => number;
  readonly #origin = randomBytes(ORIGIN_BYTES).toString('base64url');
  #count = 0;
  /** Seals of others' ids whose answers went to their backends from here, the oldest first. */
  #answered: Set<string> | undefined;
  #secret: string | undefined;

  /**
   * @param answerTimeoutMs so long what a backend without sessions has asked can be answered elsewhere.
   * @param nowMs of a clock that all processes have.
   */
  constructor(sessionId: string, answerTimeoutMs: number, nowMs: () => number = Date.now) {
    this.#sessionId = sessionId;
    this.#answerTimeoutMs = answerTimeoutMs;
    this.#nowMs = nowMs;
  }

  /** Known to every process that has the session, and to no client; `''` where a record of before has none. */
  get secret(): string {
    return (this.#secret ??= randomBytes(SECRET_BYTES).toString('base64url'));
  }

  set secret(secret: string) {
    this.#secret = secret;
  }

  /** A new one, as JSON. */
  next({ upstream, backendId, asksForTask }: AskedRequest): Buffer {
    this.#count += 1;
    const time = hasName(upstream) ? '' : `~${this.#nowMs().toString(TIME_BASE)}`;
    const head = `${this.#count}${asksForTask ? 't' : ''}${time}.${this.#origin}`;
    const rest = `:${upstream.backend.name}:${backendId.toString()}`;
    return Buffer.from(JSON.stringify(`${head}${this.#sealOf(upstream, head, rest)}${rest}`));
  }

  /**
   * What another process has asked under it, if that was in one of these upstream sessions. Each is found once.
   * @param id as JSON.
   * @returns `lost` for what another process may have asked, and nobody here can tell whom it is for; `undefined` for what
   * nobody asked, or was answered before.
   */
  takeOthers(id: Buffer, upstreams: readonly UpstreamSession[]): AskedRequest | 'lost' | undefined {
    const text: unknown = JSON.parse(id.toString());
    if (typeof text !== 'string') return undefined;
    const [all, head, task, time, origin, seal] = FORM.exec(text) ?? [];
    if (all === undefined || head === undefined || seal === undefined || origin === this.#origin) return undefined;
    const rest = text.slice(all.length - 1);
    for (const upstream of upstreams) {
      const prefix = `:${upstream.backend.name}:`;
      if (!rest.startsWith(prefix) || !this.#hasKey(upstream, time)) continue;
      if (!isSame(this.#sealOf(upstream, head, rest), seal)) continue;
      const backendId = Buffer.from(rest.slice(prefix.length));
      return this.#noteAnswered(seal) && isId(backendId)
        ? { upstream, backendId, asksForTask: task !== '' }
        : undefined;
    }
    return 'lost';
  }

  /** Whether what is asked in it is sealed with something that the client has not, and that is still worth something. */
  #hasKey(upstream: UpstreamSession, time: string | undefined): boolean {
    if (upstream.record === undefined) return false;
    if (hasName(upstream)) return time === undefined;
    if (time === undefined || this.secret === '') return false;
    return this.#nowMs() - parseInt(time, TIME_BASE) <= this.#answerTimeoutMs;
  }

  #sealOf(upstream: UpstreamSession, head: string, rest: string): string {
    const { record, backend } = upstream;
    const { origin, path } = backend.target;
    const [key, place] = hasName(upstream) ? [record?.sessionId ?? '', ''] : [this.secret, `${origin}${path} `];
    const seal = createHmac('sha256', key).update(`${this.#sessionId} ${place}${head}${rest}`);
    return seal.digest().toString('base64url', 0, SEAL_BYTES);
  }

  /** @returns false for what was answered here before. */
  #noteAnswered(seal: string): boolean {
    this.#answered ??= new Set();
    if (this.#answered.has(seal)) return false;
    const [oldest] = this.#answered;
    if (oldest !== undefined && this.#answered.size >= limits.answeredIdsKeptMax) this.#answered.delete(oldest);
    this.#answered.add(seal);
    return true;
  }
}

/** Whether the backend has given its session a name. One that is lost meanwhile cannot be answered in any case. */
function hasName({ record }: UpstreamSession): boolean {
  return record?.sessionId !== '';
}

/** @param one,other as long as each other. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** A backend's session may have a name that can be guessed: nothing but a JSON-RPC id may go into a message. */
function isId(bytes: Buffer): boolean {
  if (bytes.length > limits.backendRequestIdBytesMax) return false;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'string' || typeof value === 'number';
  } catch {
    return false;
  }
}
