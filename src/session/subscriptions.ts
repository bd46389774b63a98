// The resources that a client has subscribed to, by backend. They are repeated to a backend that loses its session. Cold path.
import { capability } from '../mcp/index.js';
import { limits } from '../shared/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import { sendOwnRequest } from './own-requests.js';
import { visitAll } from '../streams/index.js';
import { grantByAllowList } from '../lists/index.js';
import type { MessageBudget, UpstreamSession } from '../upstream/index.js';
import type { RequestMetadata } from '../http-client/index.js';

/** What each subscription adds to the shares of session bytes, beside its URI. Beyond that, 429 or 503, as for a session. */
const SUBSCRIPTION_BYTES_EACH = 128;

export class Subscriptions {
  readonly #memory: MessageBudget;
  readonly #onChanged: () => void;
  /** The backends' own URIs, by the backends' names. */
  readonly #uris = new Map<string, Set<string>>();
  #count = 0;
  #charCount = 0;

  constructor(memory: MessageBudget, onChanged: () => void = () => undefined) {
    this.#memory = memory;
    this.#onChanged = onChanged;
  }

  /** The URIs by backend name; empty when they are too long for a record. */
  recorded(): Readonly<Record<string, readonly string[]>> {
    if (this.#charCount > limits.sessionRecordBytesMax) return {};
    return Object.fromEntries([...this.#uris].map(([name, uris]) => [name, [...uris]]));
  }

  /** Whether there is room for a subscription: their number is limited, and their bytes count in the subject's share. */
  hasRoomFor(uri: string): boolean {
    return this.#count < limits.subscriptionsMax && this.#memory.hasRoomFor(bytesOf(uri));
  }

  has(backendName: string, uri: string): boolean {
    return this.#uris.get(backendName)?.has(uri) === true;
  }

  /**
   * Reserves room for a subscription until the backend has answered; an existing subscription needs no more room.
   * @returns a function that releases the room, safe to call again; `undefined` when there is no room.
   */
  reserve(backendName: string, uri: string): (() => void) | undefined {
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

  /** Takes over what another process has recorded. @param isComplete whether all other subscriptions are to be deleted. */
  merge(theirs: Readonly<Record<string, readonly string[]>>, isComplete: boolean): void {
    // `Object.entries`, because a backend may be named like a member that every object has.
    const byName = new Map(Object.entries(theirs));
    for (const [name, uris] of byName) for (const uri of uris) this.add(name, uri);
    if (!isComplete) return;
    for (const [name, uris] of this.#uris) {
      const kept = new Set(byName.get(name));
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

  /** Forgets the subscriptions to a backend that was removed, or has moved. */
  forget(backendName: string): void {
    for (const uri of this.#uris.get(backendName) ?? []) this.delete(backendName, uri);
    this.#uris.delete(backendName);
  }

  of(backendName: string): readonly string[] {
    return [...(this.#uris.get(backendName) ?? [])];
  }

  /**
   * Called when the config has changed. If the resource allow-list has changed, too, subscriptions end unless a URI or template in the list
   * grants them: the URIs of names in the list are not known here. The client can subscribe again.
   */
  onReconfigured(upstream: UpstreamSession, before: CompiledBackend, metadata: RequestMetadata): void {
    if (before.listHashes.resourceNames !== upstream.backend.listHashes.resourceNames)
      this.endUngranted(upstream, metadata);
  }

  endUngranted(upstream: UpstreamSession, metadata: RequestMetadata): void {
    const { backend } = upstream;
    this.#visitInTurns(
      upstream,
      () => upstream.state !== 'closed' && upstream.backend === backend,
      (uri) => {
        if (grantByAllowList(backend, uri) === 'granted') return;
        this.delete(backend.name, uri);
        if (upstream.state === 'open' && !upstream.isModern)
          sendSubscription(upstream, 'resources/unsubscribe', uri, metadata);
      },
    );
  }

  /** Repeats the subscriptions in a new upstream session, except those that the current allow-list clearly refuses. */
  replay(upstream: UpstreamSession, metadata: RequestMetadata): void {
    if (!upstream.declares(capability.resources) || upstream.isModern) return;
    const { record } = upstream;
    this.#visitInTurns(
      upstream,
      () => upstream.record === record,
      (uri) => {
        if (grantByAllowList(upstream.backend, uri) === 'refused') return;
        sendSubscription(upstream, 'resources/subscribe', uri, metadata);
      },
    );
  }

  /** Visits the URIs in several turns of the event loop, since each may be matched against hundreds of templates. */
  #visitInTurns({ subject, backend }: UpstreamSession, isWanted: () => boolean, visit: (uri: string) => void): void {
    const { name } = backend;
    const visitWanted = (uri: string): void => {
      if (isWanted() && this.has(name, uri)) visit(uri);
    };
    visitAll(subject, this.of(name).values(), { visit: visitWanted, onNoRoom: visitWanted });
  }
}

function sendSubscription(
  upstream: UpstreamSession,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string,
  metadata: RequestMetadata,
): void {
  const members = `"uri":${JSON.stringify(uri)}`;
  sendOwnRequest(upstream, method, members, metadata, undefined, limits.remoteAnswerMsMax);
}

/** The bytes of a URI: V8 takes two for each character as soon as one is outside Latin-1. */
function bytesOf(uri: string): number {
  return SUBSCRIPTION_BYTES_EACH + 2 * uri.length;
}

// Hashes of resource allow-lists tell a process whether the subscriptions that it takes over were granted under the list that it has.

export function allowListHashes(
  backends: ReadonlyMap<string, CompiledBackend> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const backend = backends?.get(name);
      const hash = backend?.listHashes.resourceNames;
      return hash === undefined ? [] : [[name, hash]];
    }),
  );
}
