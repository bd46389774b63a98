// Compositions as they are in the record store, each under its id, to which its name leads.
import type { ComposedServer, Composition } from './composition.js';

/** A server of a composition, referenced by id so that it may be renamed; the name is the last one known. */
export type StoredComposedServer = ComposedServer & { readonly id: string };

export interface StoredComposition extends Omit<Composition, 'servers' | 'missingTools'> {
  readonly servers: readonly StoredComposedServer[];
  /** Subject that wrote it last. */
  readonly maker?: string;
  /** Size of its virtual host in one user config, measured when it was written. */
  readonly hostBytes?: number;
}

export const COMPOSITIONS = 'compositions/';

export function encodeComposition(composition: StoredComposition): Buffer {
  return Buffer.from(JSON.stringify(composition));
}
