// Two people who change one thing: what each was shown has a tag, and a change that names the tag is made only while the thing is
// still as it was shown. Tags are of what people say; what probes find out is nobody's change. Cold.
import { createHash } from 'node:crypto';
import { ControlPlaneFault } from './control-plane-fault.js';

const TAG_BYTES = 16;

/** Whether a change is still wanted. */
export class ChangeCondition {
  readonly #tags: ReadonlySet<string> | undefined;

  /** @param tags `undefined`: whatever it is by now. */
  private constructor(tags: ReadonlySet<string> | undefined) {
    this.#tags = tags;
  }

  static readonly none = new ChangeCondition(undefined);

  /** @param header `If-Match`, as RFC 9110 has it: tags, or `*`, which anything that is there meets. */
  static of(header: string | undefined): ChangeCondition {
    if (header === undefined || header.trim() === '*') return ChangeCondition.none;
    return new ChangeCondition(new Set(header.split(',').map((tag) => tag.trim())));
  }

  isMetBy(tag: string): boolean {
    return this.#tags === undefined || this.#tags.has(tag);
  }

  /**
   * Throws a `ControlPlaneFault` where a change is not wanted any more.
   * @param tag of what is to be changed, as it is now.
   */
  refuseUnlessMet(noun: 'server' | 'composition', name: string, tag: string): void {
    if (this.isMetBy(tag)) return;
    const words = 'has changed since it was read: read it again and check the differences';
    throw new ControlPlaneFault('changed-meanwhile', `The ${noun} ${name} ${words}`);
  }
}

/** @param said what people say of a thing. */
export function tagOf(said: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(said)).digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
}
