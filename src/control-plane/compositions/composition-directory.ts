// The compositions in memory, found by name, subject, server and maker. `Directory.sync` brings them up to date.
import type { Mirrored } from '../mirror/record-mirror.js';
import { NameOrder } from '../mirror/name-order.js';
import { isPattern } from './tool-patterns.js';
import { COMPOSITIONS, type StoredComposition } from './composition-storage.js';

/** The total of one maker's compositions. */
interface MakerUsage {
  readonly compositions: number;
  /** Size of the records. */
  readonly storedBytes: number;
  /** Size in user configs: each composition's virtual host counts once per subject. */
  readonly publishedBytes: number;
}

interface KnownComposition {
  readonly composition: StoredComposition;
  readonly storedBytes: number;
}

type Group = Map<string, Set<StoredComposition>>;

export class CompositionDirectory implements Mirrored {
  readonly prefix = COMPOSITIONS;
  readonly #byId = new Map<string, KnownComposition>();
  readonly #bySubject: Group = new Map();
  readonly #byMaker: Group = new Map();
  /** By the id and the name of each server, the name in lower case. */
  readonly #byServer: Group = new Map();
  readonly #order = new NameOrder<StoredComposition>();

  get size(): number {
    return this.#byId.size;
  }

  /** Sorted by name. */
  get sorted(): readonly StoredComposition[] {
    return this.#order.items;
  }

  /** Every subject that has a composition. */
  get subjects(): Iterable<string> {
    return this.#bySubject.keys();
  }

  keys(): Iterable<string> {
    return Array.from(this.#byId.keys(), (id) => COMPOSITIONS + id);
  }

  /** Size of the record. */
  bytesOf(id: string): number {
    return this.#byId.get(id)?.storedBytes ?? 0;
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
    for (const reference of [id, name.toLowerCase()]) {
      for (const { servers } of this.#byServer.get(reference) ?? []) {
        if (servers.some((each) => each.tools.some(isPattern))) return true;
      }
    }
    return false;
  }

  /** @param except the id of a composition that is not counted. */
  usageOf(maker: string, except?: string): MakerUsage {
    const usage = { compositions: 0, storedBytes: 0, publishedBytes: 0 };
    for (const { id, subjects, hostBytes = 0 } of this.#byMaker.get(maker) ?? []) {
      if (id === except) continue;
      usage.compositions += 1;
      usage.storedBytes += this.#byId.get(id)?.storedBytes ?? 0;
      usage.publishedBytes += hostBytes * subjects.length;
    }
    return usage;
  }

  put(key: string, value: Buffer | undefined): void {
    const id = key.slice(COMPOSITIONS.length);
    const before = this.#byId.get(id)?.composition;
    if (before !== undefined) {
      this.#order.remove(before);
      this.#forEachGroup(before, leave);
    }
    this.#byId.delete(id);
    if (value !== undefined) {
      const composition = JSON.parse(value.toString()) as StoredComposition;
      this.#byId.set(id, { composition, storedBytes: value.length });
      this.#order.add(composition);
      this.#forEachGroup(composition, join);
    }
  }

  #forEachGroup(
    composition: StoredComposition,
    act: (group: Group, name: string, composition: StoredComposition) => void,
  ): void {
    for (const subject of composition.subjects) act(this.#bySubject, subject, composition);
    act(this.#byMaker, composition.maker ?? '', composition);
    for (const { id, name } of composition.servers) {
      act(this.#byServer, id, composition);
      act(this.#byServer, name.toLowerCase(), composition);
    }
  }
}

function join(group: Group, name: string, composition: StoredComposition): void {
  const members = group.get(name);
  if (members === undefined) group.set(name, new Set([composition]));
  else members.add(composition);
}

function leave(group: Group, name: string, composition: StoredComposition): void {
  const members = group.get(name);
  members?.delete(composition);
  if (members?.size === 0) group.delete(name);
}
