// The resources that a client has subscribed to, by backend: what a backend forgets, with its session, it is told again. Cold.
import { capability } from '../../protocol/capabilities.js';
import { limits } from '../../shared/limits.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import { allowListHash } from './allow-list-hash.js';
import { grantByEntries } from '../list-merge/grant.js';
import type { SessionShare } from '../../upstream/session/session-share.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';

export class Subscriptions {
  readonly #memory: SessionShare;
  readonly #onChanged: () => void;
  /** The backends' own URIs, by the backends' names. */
  readonly #uris = new Map<string, Set<string>>();
  #count = 0;
  /** Of all URIs. */
  #charCount = 0;

  constructor(memory: SessionShare, onChanged: () => void = () => undefined) {
    this.#memory = memory;
    this.#onChanged = onChanged;
  }

  /** By the backends' names; none when they are too long for a record, without writing them out. */
  recorded(): Readonly<Record<string, readonly string[]>> {
    if (this.#charCount > limits.sessionRecordBytesMax) return {};
    return Object.fromEntries([...this.#uris].map(([name, uris]) => [name, [...uris]]));
  }

  /** Whether one more may be kept: there is a bound for their number, and the subject's share for their bytes. */
  hasRoomFor(uri: string): boolean {
    return this.#count < limits.subscriptionsMax && this.#memory.hasRoomFor(bytesOf(uri));
  }

  has(backendName: string, uri: string): boolean {
    return this.#uris.get(backendName)?.has(uri) === true;
  }

  /**
   * Room for one that the backend is asked for; none more for one that is held already.
   * @returns `undefined` when there is none; otherwise what gives it back, however often it is called.
   */
  tryReserve(backendName: string, uri: string): (() => void) | undefined {
    if (this.has(backendName, uri)) return () => undefined;
    if (!this.hasRoomFor(uri)) return undefined;
    this.#count += 1;
    this.#memory.keep(bytesOf(uri));
    let isReserved = true;
    return () => {
      if (!isReserved) return;
      isReserved = false;
      this.#count -= 1;
      this.#memory.drop(bytesOf(uri));
    };
  }

  /** Takes over those that another process has written down. @param isComplete whether there are no others. */
  merge(theirs: Readonly<Record<string, readonly string[]>>, isComplete: boolean): void {
    for (const [name, uris] of Object.entries(theirs)) for (const uri of uris) this.add(name, uri);
    if (!isComplete) return;
    for (const [name, uris] of this.#uris) {
      const kept = new Set(theirs[name]);
      for (const uri of [...uris]) if (!kept.has(uri)) this.delete(name, uri);
    }
  }

  add(backendName: string, uri: string): void {
    const uris = this.#uris.get(backendName) ?? new Set();
    if (uris.has(uri) || !this.hasRoomFor(uri)) return;
    uris.add(uri);
    this.#charCount += uri.length;
    this.#uris.set(backendName, uris);
    this.#count += 1;
    this.#memory.keep(bytesOf(uri));
    this.#onChanged();
  }

  delete(backendName: string, uri: string): void {
    if (this.#uris.get(backendName)?.delete(uri) !== true) return;
    this.#count -= 1;
    this.#charCount -= uri.length;
    this.#memory.drop(bytesOf(uri));
    this.#onChanged();
  }

  /** The backend has gone, or another has come in its place. */
  forget(backendName: string): void {
    for (const uri of this.#uris.get(backendName) ?? []) this.delete(backendName, uri);
    this.#uris.delete(backendName);
  }

  /** Whether the backend may have something to say of any. */
  isAnyOf(backendName: string): boolean {
    return (this.#uris.get(backendName)?.size ?? 0) > 0;
  }

  /** Its own URIs. */
  of(backendName: string): readonly string[] {
    return [...(this.#uris.get(backendName) ?? [])];
  }

  /** Whether one of them is for the resource, or for one that it is a part of: updates may be of parts. */
  cover(backendName: string, uri: string): boolean {
    for (const subscribed of this.#uris.get(backendName) ?? []) if (uri.startsWith(subscribed)) return true;
    return false;
  }

  /**
   * The config has changed. Where the allow-list of resources has, those end that it does not grant by itself: of a name in it
   * nobody knows here what it is the name of. Who may subscribes again.
   */
  onReconfigured(
    context: UpstreamContext,
    upstream: UpstreamSession,
    before: CompiledBackend,
    metadata: RequestMetadata,
  ): void {
    if (allowListHash(before) !== allowListHash(upstream.backend)) this.endUngranted(context, upstream, metadata);
  }

  /** Ends those that the allow-list as it is now does not grant by itself, as above. */
  endUngranted(context: UpstreamContext, upstream: UpstreamSession, metadata: RequestMetadata): void {
    const { backend } = upstream;
    this.#eachInTurns(
      backend.name,
      () => upstream.state !== 'closed' && upstream.backend === backend,
      (uri) => {
        if (grantByEntries(backend, uri) === 'granted') return;
        this.delete(backend.name, uri);
        if (upstream.state === 'open' && !upstream.isModern)
          tell(context, upstream, 'resources/unsubscribe', uri, metadata);
      },
    );
  }

  /** Into an upstream session that is new. What its allow-list no longer has any of stays out. */
  replay(context: UpstreamContext, upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (!upstream.declares(capability.resources) || upstream.isModern) return;
    const { record } = upstream;
    this.#eachInTurns(
      upstream.backend.name,
      () => upstream.record === record,
      (uri) => {
        if (grantByEntries(upstream.backend, uri) === 'refused') return;
        tell(context, upstream, 'resources/subscribe', uri, metadata);
      },
    );
  }

  /** A URI may be held against hundreds of templates: others have their turns in between. */
  #eachInTurns(backendName: string, isWanted: () => boolean, visit: (uri: string) => void): void {
    const uris = [...(this.#uris.get(backendName) ?? [])].values();
    const takeTurn = (): void => {
      const endMs = performance.now() + limits.readingTurnMs;
      for (let next = uris.next(); next.done !== true && isWanted(); next = uris.next()) {
        if (this.has(backendName, next.value)) visit(next.value);
        if (performance.now() >= endMs) {
          setImmediate(takeTurn);
          return;
        }
      }
    };
    takeTurn();
  }
}

/** Nobody waits for the answer. */
function tell(
  context: UpstreamContext,
  upstream: UpstreamSession,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string,
  metadata: RequestMetadata,
): void {
  const id = context.ids.next();
  const params = JSON.stringify({ uri });
  const text = `{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}","params":${params}}`;
  const span = { bytes: id, start: 0, end: id.length };
  upstream.request({ body: Buffer.from(text) }, span, metadata, limits.subscribeMsMax, false, {
    onAnswer: () => undefined,
    onMessage: (bytes, message) => upstream.answer(bytes, message, metadata),
    onFault: () => undefined,
  });
}

/** V8 takes two bytes for each character as soon as one of them is outside Latin-1. */
function bytesOf(uri: string): number {
  return limits.subscriptionBytesEach + 2 * uri.length;
}
