// Prevents lost updates: each view of a thing has a tag, and a change that names a tag is made only while the thing
// still has it. Tags cover what people set; what probes find out is nobody's change. Cold path.
import { createHash } from 'node:crypto';
import { ControlPlaneFault } from './control-plane-fault.js';

const TAG_BYTES = 16;

/** The condition under which a change is made. */
export class ChangeCondition {
  readonly #tags: ReadonlySet<string> | undefined;

  /** @param tags `undefined`: any state. */
  private constructor(tags: ReadonlySet<string> | undefined) {
    this.#tags = tags;
  }

  static readonly none = new ChangeCondition(undefined);

  /** @param header `If-Match`, as in RFC 9110: tags, or `*`, which anything that exists meets. */
  static of(header: string | undefined): ChangeCondition {
    if (header === undefined || header.trim() === '*') return ChangeCondition.none;
    return new ChangeCondition(new Set(header.split(',').map((tag) => tag.trim())));
  }

  isMetBy(tag: string): boolean {
    return this.#tags === undefined || this.#tags.has(tag);
  }

  /**
   * Throws a `ControlPlaneFault` if the thing has changed since it was read.
   * @param tag of the thing as it is now.
   */
  refuseUnlessMet(noun: 'server' | 'composition', name: string, tag: string): void {
    if (this.isMetBy(tag)) return;
    const words = 'has changed since it was read: read it again and check the differences';
    throw new ControlPlaneFault('changed-meanwhile', `The ${noun} ${name} ${words}`);
  }
}

/** @param said what people have set on a thing. */
export function tagOf(said: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(said)).digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
}
