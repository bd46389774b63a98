// The ids under which backends' requests are put to a client: each names the backend, its own id and the upstream session, so that
// whichever process gets the client's answer can pass it on. Ids of two processes in one session are never alike. Cold.
import { createHmac, randomBytes } from 'node:crypto';
import { limits } from '../shared/limits.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';

/** What an answer needs to find its way. */
export interface AskedRequest {
  readonly upstream: UpstreamSession;
  /** The backend's own, as JSON. */
  readonly backendId: Buffer;
  readonly asksForTask: boolean;
  /** Of its progress, where that is known. */
  readonly tokenKey?: string | undefined;
}

/** Four characters each: whose numbers they are, and in which upstream session it was asked. */
const PART_BYTES = 3;
const FORM = /^\d+(t?)\.([\w-]{4})([\w-]{4}):/;

export class AskedIds {
  readonly #sessionId: string;
  readonly #origin = randomBytes(PART_BYTES).toString('base64url');
  #count = 0;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** A new one, as JSON. */
  next({ upstream, backendId, asksForTask }: AskedRequest): Buffer {
    this.#count += 1;
    const head = `${this.#count}${asksForTask ? 't' : ''}.${this.#origin}${this.#tagOf(upstream)}`;
    return Buffer.from(JSON.stringify(`${head}:${upstream.backend.name}:${backendId.toString()}`));
  }

  /** What another process has asked under it, if that was in one of these upstream sessions. @param id as JSON. */
  readOthers(id: Buffer, upstreams: readonly UpstreamSession[]): AskedRequest | undefined {
    const text: unknown = JSON.parse(id.toString());
    const [head = '', task, origin, tag] = (typeof text === 'string' && FORM.exec(text)) || [];
    if (typeof text !== 'string' || origin === undefined || origin === this.#origin) return undefined;
    const rest = text.slice(head.length);
    for (const upstream of upstreams) {
      const prefix = `${upstream.backend.name}:`;
      if (!rest.startsWith(prefix) || this.#tagOf(upstream) !== tag) continue;
      const backendId = Buffer.from(rest.slice(prefix.length));
      if (isId(backendId)) return { upstream, backendId, asksForTask: task !== '' };
    }
    return undefined;
  }

  /** Says of two whether they are the same, and nothing of the id that the backend gave. */
  #tagOf({ record }: UpstreamSession): string {
    const tag = createHmac('sha256', this.#sessionId).update(record?.sessionId ?? '');
    return tag.digest().toString('base64url', 0, PART_BYTES);
  }
}

/** The client may have made it up: nothing but a JSON-RPC id may go into a message. */
function isId(bytes: Buffer): boolean {
  if (bytes.length > limits.backendRequestIdBytesMax) return false;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'string' || typeof value === 'number';
  } catch {
    return false;
  }
}
