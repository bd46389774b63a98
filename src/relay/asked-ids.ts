// The ids under which backends' requests are put to a client: each names the backend and its own id, so that whichever process
// gets the client's answer can pass it on. A seal over all of it, whose key no client has, keeps a client from answering what
// it was never asked. Ids of two processes in one session are never alike. Cold: where no backend asks, nothing is sealed.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { limits } from '../shared/limits.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';
import type { UpstreamSessionRecord } from '../upstream/upstream-session-record.js';

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
/** The number and the form, the origin, the seal; behind it the backend's name and its id. */
const FORM = /^(\d+(t?)\.([\w-]{4}))([\w-]{16}):/;

export class AskedIds {
  readonly #sessionId: string;
  readonly #origin = randomBytes(ORIGIN_BYTES).toString('base64url');
  #count = 0;
  /** Seals of others' ids whose answers went to their backends from here, the oldest first. */
  #answered: Set<string> | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** A new one, as JSON. */
  next({ upstream, backendId, asksForTask }: AskedRequest): Buffer {
    this.#count += 1;
    const head = `${this.#count}${asksForTask ? 't' : ''}.${this.#origin}`;
    const rest = `:${upstream.backend.name}:${backendId.toString()}`;
    return Buffer.from(JSON.stringify(`${head}${this.#sealOf(upstream.record, head, rest)}${rest}`));
  }

  /**
   * What another process has asked under it, if that was in one of these upstream sessions. Each is found once.
   * @param id as JSON.
   */
  takeOthers(id: Buffer, upstreams: readonly UpstreamSession[]): AskedRequest | undefined {
    const text: unknown = JSON.parse(id.toString());
    if (typeof text !== 'string') return undefined;
    const [all, head, task, origin, seal] = FORM.exec(text) ?? [];
    if (all === undefined || head === undefined || seal === undefined || origin === this.#origin) return undefined;
    const rest = text.slice(all.length - 1);
    for (const upstream of upstreams) {
      const prefix = `:${upstream.backend.name}:`;
      const { record } = upstream;
      // Without a session of the backend's own there is no key that the client has not, and nothing to tell a successor by.
      if (!rest.startsWith(prefix) || record === undefined || record.sessionId === '') continue;
      if (!isSame(this.#sealOf(record, head, rest), seal) || !this.#noteAnswered(seal)) continue;
      const backendId = Buffer.from(rest.slice(prefix.length));
      if (isId(backendId)) return { upstream, backendId, asksForTask: task !== '' };
    }
    return undefined;
  }

  /** The key is the backend's name of its session, which no client is told: another session, or its successor, seals otherwise. */
  #sealOf(record: UpstreamSessionRecord | undefined, head: string, rest: string): string {
    const seal = createHmac('sha256', record?.sessionId ?? '').update(`${this.#sessionId} ${head}${rest}`);
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
