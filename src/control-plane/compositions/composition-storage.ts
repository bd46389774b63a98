// Compositions as they are in the record store, each under its id, to which its name leads.
import type { Exposure } from '../../user-config/index.js';
import type { WrittenCuration } from '../common/curation.js';

/** A server of a composition, referenced by id so that it may be renamed; the name is the last one known. */
export interface StoredComposedServer {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly string[];
  /** `prompts` and `resources` are present only when not empty. */
  readonly prompts?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly curation?: WrittenCuration | undefined;
}

export interface StoredComposition {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly servers: readonly StoredComposedServer[];
  /** Absent: all tools are shown. */
  readonly exposure?: Exposure | undefined;
  readonly subjects: readonly string[];
  /** Subject that wrote it last; absent in records of earlier versions. */
  readonly maker?: string;
  /** Subject that created it, and the team that it also belongs to, where roles are taken from tokens. */
  readonly owner?: string;
  readonly team?: string;
  /** Size of its virtual host in one user config, measured when it was written. */
  readonly hostBytes?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const COMPOSITIONS = 'compositions/';

export function encodeComposition(composition: StoredComposition): Buffer {
  return Buffer.from(JSON.stringify(composition));
}
