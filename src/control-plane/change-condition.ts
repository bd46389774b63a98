// Two people who change one thing: what each was shown has a tag, and a change that names the tag is made only while the thing is
// still as it was shown. Tags are of what people say; what probes find out is nobody's change. Cold.
import { createHash } from 'node:crypto';
import type { Composition } from './compositions/composition.js';
import { ControlPlaneFault } from './control-plane-fault.js';
import type { ServerRecord } from './registry/server-record.js';

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

  /** Throws a `ControlPlaneFault` where a change of the server is not wanted any more. */
  refuseServer(server: SaidOfServer): void {
    if (!this.isMetBy(serverTag(server))) throw changed('server', server.name);
  }

  refuseComposition(composition: SaidOfComposition): void {
    if (!this.isMetBy(compositionTag(composition))) throw changed('composition', composition.name);
  }
}

function changed(noun: string, name: string): ControlPlaneFault {
  const words = 'has changed since it was read: read it again and check the differences';
  return new ControlPlaneFault('changed-meanwhile', `The ${noun} ${name} ${words}`);
}

type SaidOfServer = Pick<
  ServerRecord,
  'id' | 'name' | 'url' | 'description' | 'tags' | 'enabled' | 'auth' | 'curation' | 'team' | 'updatedAt'
>;

export function serverTag(server: SaidOfServer): string {
  const { id, name, url, description, tags, enabled, auth, curation, team, updatedAt } = server;
  return tagOf([id, name, url, description, tags, enabled, auth ?? null, curation ?? null, team ?? null, updatedAt]);
}

type SaidOfComposition = Pick<
  Composition,
  'id' | 'name' | 'description' | 'exposure' | 'subjects' | 'team' | 'updatedAt' | 'servers'
>;

/** A server that was given another name is the same server: names of servers say nothing here. */
export function compositionTag(composition: SaidOfComposition): string {
  const { id, name, description, exposure = 'all', subjects, team, updatedAt, servers } = composition;
  const said = servers.map(({ tools, prompts = [], resources = [], curation = null }) => [
    tools,
    prompts,
    resources,
    curation,
  ]);
  return tagOf([id, name, description, exposure, subjects, team ?? null, updatedAt, said]);
}

function tagOf(said: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(said)).digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
}
