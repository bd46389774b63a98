// A composition as everyone but its own storage sees it: a virtual server of chosen tools of several servers, for the
// subjects that it names (decisions 3). Plain data, JSON-ready.
import type { Exposure } from '../../user-config/compiled-config.js';
import type { WrittenCuration } from '../common/curation.js';

export interface ComposedServer {
  /** As the registry has it now; as it was last known when the server is gone. */
  readonly name: string;
  /** Bare names, without the server's prefix, and patterns of them; at least one, unless there are prompts or resources. */
  readonly tools: readonly string[];
  /** The same of prompts; absent: none. */
  readonly prompts?: readonly string[] | undefined;
  /** Names or URIs of resources, names or texts of templates; absent: none. */
  readonly resources?: readonly string[] | undefined;
  /** In place of what the server's own record says, member by member. */
  readonly curation?: WrittenCuration | undefined;
}

export interface ComposedTool {
  readonly server: string;
  readonly tool: string;
}

export interface Composition {
  /** 32 hexadecimal digits; the id of the virtual host, too. */
  readonly id: string;
  /** As it was written; unique without regard to case. */
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  /** What its `tools/list` shows; absent: all of its tools. */
  readonly exposure?: Exposure | undefined;
  /** Who may use it. */
  readonly subjects: readonly string[];
  /** Who created it, where roles are taken from tokens. */
  readonly owner?: string;
  /** Whose it is beside: its members may change it. */
  readonly team?: string;
  /** Times are ISO 8601, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Tools that it names and cannot serve: their server is gone, disabled, was never reached, or has them no more. */
  readonly missingTools: readonly ComposedTool[];
}

export interface CompositionInput {
  readonly name: string;
  /** Absent: empty for a new composition, unchanged for a known one. */
  readonly description?: string | undefined;
  /** `*` alone stands for all tools. */
  readonly servers: readonly (Omit<ComposedServer, 'tools'> & { readonly tools: readonly string[] | string })[];
  /** Absent: `all` for a new composition, unchanged for a known one. */
  readonly exposure?: Exposure | undefined;
  /** Absent: the caller for a new composition, unchanged for a known one. */
  readonly subjects?: readonly string[] | undefined;
  /** Absent: the caller's only team for a new composition, unchanged for a known one. `null`: none. */
  readonly team?: string | null | undefined;
  /** Tools that their server does not have may be named. */
  readonly isForced?: boolean | undefined;
}
