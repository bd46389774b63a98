// A composition as seen outside of its storage: a virtual server of chosen tools of several servers, for the subjects
// that it names (decisions 3). Plain data, JSON-ready.
import type { Exposure } from '../../user-config/index.js';
import type { WrittenCuration } from '../common/curation.js';
import { tagOf } from '../common/change-condition.js';

/** What people have set, which the tag of a composition (change-condition.ts) is made of. */
type SaidOfComposition = Pick<
  Composition,
  'id' | 'name' | 'description' | 'exposure' | 'subjects' | 'team' | 'updatedAt' | 'servers'
>;

/** Server names are left out: a renamed server is the same server. */
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

export interface ComposedServer {
  /** As in the registry now; the last known name when the server is gone. */
  readonly name: string;
  /** Bare names, without the server's prefix, and patterns of these; at least one, unless there are prompts or resources. */
  readonly tools: readonly string[];
  /** Bare names of prompts; absent: none. */
  readonly prompts?: readonly string[] | undefined;
  /** Names or URIs of resources, names or texts of templates; absent: none. */
  readonly resources?: readonly string[] | undefined;
  /** Overrides the server's own curation, member by member. */
  readonly curation?: WrittenCuration | undefined;
}

export interface ComposedTool {
  readonly server: string;
  readonly tool: string;
}

export interface Composition {
  /** 32 hexadecimal digits; also the id of the virtual host. */
  readonly id: string;
  /** As written; unique without regard to case. */
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  /** What its `tools/list` shows; absent: all of its tools. */
  readonly exposure?: Exposure | undefined;
  /** Subjects that may use it. */
  readonly subjects: readonly string[];
  /** Subject that created it, where roles are taken from tokens. */
  readonly owner?: string;
  /** Team that it also belongs to, whose members may change it. */
  readonly team?: string;
  /** Times are ISO 8601, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Tools that it names but cannot serve: their server is gone, disabled, was never reached, or no longer has them. */
  readonly missingTools: readonly ComposedTool[];
}

export interface CompositionInput {
  readonly name: string;
  /** Absent: empty for a new composition, unchanged for an existing one. */
  readonly description?: string | undefined;
  /** The string `*` stands for all tools. */
  readonly servers: readonly (Omit<ComposedServer, 'tools'> & { readonly tools: readonly string[] | string })[];
  /** Absent: `all` for a new composition, unchanged for an existing one. */
  readonly exposure?: Exposure | undefined;
  /** Absent: the caller for a new composition, unchanged for an existing one. */
  readonly subjects?: readonly string[] | undefined;
  /** Absent: the caller's only team for a new composition, unchanged for an existing one. `null`: no team. */
  readonly team?: string | null | undefined;
  /** Whether to accept tools that their server does not have. */
  readonly isForced?: boolean | undefined;
}
