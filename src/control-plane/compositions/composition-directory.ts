// The compositions in memory, found by name, subject, server and maker. `Directory.sync` brings them up to date.
import { NamedMirror } from '../mirror/named-mirror.js';
import { isPattern } from './tool-patterns.js';
import { COMPOSITIONS, type StoredComposition } from './composition.js';

/** The total of one maker's compositions. */
interface MakerUsage {
  readonly compositions: number;
  /** Size of the records. */
  readonly storedBytes: number;
  /** Size in user configs: each composition's virtual host counts once per subject. */
  readonly publishedBytes: number;
}

type Group = Map<string, Set<StoredComposition>>;

export class CompositionDirectory extends NamedMirror<StoredComposition> {
  readonly #bySubject: Group = new Map();
  readonly #byMaker: Group = new Map();
  /** By the id and the name of each server, the name in lower case. */
  readonly #byServer: Group = new Map();
  readonly #storedBytes = new WeakMap<StoredComposition, number>();

  constructor() {
    super(COMPOSITIONS);
  }

  /** Every subject that has a composition. */
  get subjects(): Iterable<string> {
    return this.#bySubject.keys();
  }

  /** Size of the record. */
  bytesOf(composition: StoredComposition): number {
    return this.#storedBytes.get(composition) ?? 0;
  }

  /** In a stable order. */
  forSubject(subject: string): readonly StoredComposition[] {
    const found = [...(this.#bySubject.get(subject) ?? [])];
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @param server an id, or a name in any case. */
  ofServer(server: string): Iterable<StoredComposition> {
    return this.#byServer.get(server.toLowerCase()) ?? [];
  }

  /** Whether any composition has patterns for the server's tools, so that a change of its tools must be published. */
  areFollowing({ id, name }: { readonly id: string; readonly name: string }): boolean {
    const compositions = [...this.ofServer(id), ...this.ofServer(name)];
    return compositions.some(({ servers }) => servers.some(({ tools }) => tools.some(isPattern)));
  }

  /** @param except the id of a composition that is not counted. */
  usageOf(maker: string, except?: string): MakerUsage {
    const usage = { compositions: 0, storedBytes: 0, publishedBytes: 0 };
    for (const composition of this.#byMaker.get(maker) ?? []) {
      const { id, subjects, hostBytes = 0 } = composition;
      if (id === except) continue;
      usage.compositions += 1;
      usage.storedBytes += this.bytesOf(composition);
      usage.publishedBytes += hostBytes * subjects.length;
    }
    return usage;
  }

  protected override read(value: Buffer): StoredComposition {
    const composition = JSON.parse(value.toString()) as StoredComposition;
    this.#storedBytes.set(composition, value.length);
    return composition;
  }

  protected override onChange(composition: StoredComposition, isThere: boolean): void {
    const { subjects, maker = '', servers } = composition;
    const change = (group: Group, name: string): void => {
      const members = group.get(name) ?? new Set();
      if (isThere) members.add(composition);
      else members.delete(composition);
      if (members.size === 0) group.delete(name);
      else group.set(name, members);
    };
    for (const subject of subjects) change(this.#bySubject, subject);
    change(this.#byMaker, maker);
    for (const { id, name } of servers) {
      change(this.#byServer, id);
      change(this.#byServer, name.toLowerCase());
    }
  }
}
