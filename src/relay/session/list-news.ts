// What the gateway itself changes in the lists of one client, and the client must be told: a backend that was missing when the client was
// greeted or was given a list and is there now, one that has gone, other rules for one that stays. Only kinds of lists that the backend
// declares are told. Cold path: the lists themselves are not compared.
import { createHash } from 'node:crypto';
import { LIST_CHANGES } from '../../protocol/capabilities.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import { entriesOf } from '../../user-config/curation.js';
import { listChanges } from '../message/listen-filter.js';
import type { SessionStream } from '../stream/session-stream.js';

export class ListNews {
  /** By backend: the kinds of lists that the client has without it, as bits of `LIST_CHANGES`. Made for the first one. */
  #missing: Map<string, number> | undefined;
  /** Changes for which nobody has listened yet. */
  #untold = 0;
  #stream: Pick<SessionStream, 'isHeard' | 'tellChanged'> | undefined;

  /** The client listens: it is told what has changed before, too. */
  tellOn(stream: Pick<SessionStream, 'isHeard' | 'tellChanged'>): void {
    this.#stream = stream;
    const bits = this.#untold;
    this.#untold = 0;
    this.#tell(bits);
  }

  /** The client is given lists of these kinds, or a greeting, without the backend. */
  onMissing(backendName: string, bits: number = LIST_CHANGES): void {
    this.#missing ??= new Map();
    this.#missing.set(backendName, (this.#missing.get(backendName) ?? 0) | bits);
  }

  onOpened(upstream: UpstreamSession): void {
    const bits = this.#missing?.get(upstream.backend.name) ?? 0;
    this.#missing?.delete(upstream.backend.name);
    this.#tell(bits & declaredBy(upstream));
  }

  /** The backend cannot be reached any more, or not where it was; or it is no longer in the config, and will not be back. */
  onGone(upstream: UpstreamSession, mayBeBack: boolean): void {
    const { name } = upstream.backend;
    const bits = declaredBy(upstream) & ~(this.#missing?.get(name) ?? 0);
    if (mayBeBack) this.onMissing(name);
    else this.#missing?.delete(name);
    this.#tell(bits);
  }

  /** The session obeys other rules for the backend than before. */
  onRules(upstream: UpstreamSession, before: CompiledBackend): void {
    const [old, now] = [rulesOf(before), rulesOf(upstream.backend)];
    const bits = listChanges.reduce((all, { bit }, at) => (old[at] === now[at] ? all : all | bit), 0);
    this.#tell(bits & declaredBy(upstream));
  }

  #tell(bits: number): void {
    if (this.#stream?.isHeard !== true) this.#untold |= bits;
    else for (const { bit, method } of listChanges) if ((bits & bit) !== 0) this.#stream.tellChanged(method);
  }
}

function declaredBy(upstream: UpstreamSession): number {
  return listChanges.reduce((bits, { bit, of }) => (upstream.declares(of) ? bits | bit : bits), 0);
}

const rules = new WeakMap<CompiledBackend, readonly string[]>();

/** For each of `listChanges`, what decides which of the backend's items are listed and how, as a hash. */
function rulesOf(backend: CompiledBackend): readonly string[] {
  const known = rules.get(backend);
  if (known !== undefined) return known;
  const { prefix, uriName, allowedNames, curation } = backend;
  const parts = [
    [prefix, sorted(allowedNames.tools), entriesOf(curation.tools)],
    [prefix, sorted(allowedNames.prompts), entriesOf(curation.prompts)],
    [uriName, sorted(allowedNames.resources)],
  ];
  const hashes = parts.map((part) => createHash('sha256').update(JSON.stringify(part)).digest('base64'));
  rules.set(backend, hashes);
  return hashes;
}

function sorted(names: ReadonlySet<string> | undefined): readonly string[] | undefined {
  return names && [...names].sort();
}
