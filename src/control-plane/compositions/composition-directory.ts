// The compositions in memory, found by name, subject, server and maker.
import { NamedMirror } from '../mirror/named-mirror.js';
import { isPattern } from './tool-patterns.js';
import { COMPOSITIONS_PREFIX, type StoredComposition } from './composition.js';

type CompositionIndex = Map<string, Set<StoredComposition>>;

export class CompositionDirectory extends NamedMirror<StoredComposition> {
  readonly #bySubject: CompositionIndex = new Map();
  readonly #byMaker: CompositionIndex = new Map();
  /** Compositions by the ids and names of their servers, the names in lower case. */
  readonly #byServer: CompositionIndex = new Map();
  readonly #storedBytes = new WeakMap<StoredComposition, number>();

  constructor() {
    super(COMPOSITIONS_PREFIX);
  }

  get subjects(): Iterable<string> {
    return this.#bySubject.keys();
  }

  storedBytesOf(composition: StoredComposition): number {
    return this.#storedBytes.get(composition) ?? 0;
  }

  /** The subject's compositions, sorted by id. */
  forSubject(subject: string): readonly StoredComposition[] {
    const found = [...(this.#bySubject.get(subject) ?? [])];
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** The compositions that have the server. @param server an id, or a name in any case. */
  ofServer(server: string): Iterable<StoredComposition> {
    return this.#byServer.get(server.toLowerCase()) ?? [];
  }

  /** Whether a composition has patterns for the server, so that it must be published again when the server's tools change. */
  hasPatternsFor({ id, name }: { readonly id: string; readonly name: string }): boolean {
    const compositions = [...this.ofServer(id), ...this.ofServer(name)];
    return compositions.some(({ servers }) => servers.some(({ tools }) => tools.some(isPattern)));
  }

  /**
   * The totals of one maker's compositions; `publishedBytes` counts a composition once for each of its subjects.
   * @param except id of a composition that is not counted.
   */
  usageOf(maker: string, except?: string) {
    const usage = { compositionCount: 0, storedBytes: 0, publishedBytes: 0 };
    for (const composition of this.#byMaker.get(maker) ?? []) {
      const { id, subjects, hostBytes = 0 } = composition;
      if (id === except) continue;
      usage.compositionCount += 1;
      usage.storedBytes += this.storedBytesOf(composition);
      usage.publishedBytes += hostBytes * subjects.length;
    }
    return usage;
  }

  protected override parse(value: Buffer): StoredComposition {
    const composition = JSON.parse(value.toString()) as StoredComposition;
    this.#storedBytes.set(composition, value.length);
    return composition;
  }

  protected override onRowChange(composition: StoredComposition, isAdded: boolean): void {
    const { subjects, maker = '', servers } = composition;
    const update = (index: CompositionIndex, name: string): void => {
      const compositions = index.get(name) ?? new Set();
      if (isAdded) compositions.add(composition);
      else compositions.delete(composition);
      if (compositions.size === 0) index.delete(name);
      else index.set(name, compositions);
    };
    for (const subject of subjects) update(this.#bySubject, subject);
    update(this.#byMaker, maker);
    for (const { id, name } of servers) {
      update(this.#byServer, id);
      update(this.#byServer, name.toLowerCase());
    }
  }
}
