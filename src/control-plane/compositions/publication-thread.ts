// The entry of the thread that large publications are planned in: what piscina calls.
import { planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export interface PublicationTask {
  readonly state: PublicationState;
  readonly wanted: ReadonlyMap<string, string>;
}

/** A plan without what was there before, which need not come back. */
export type PublicationOutcome =
  | Exclude<PublicationPlan, { readonly kind: 'stale' }>
  | { readonly kind: 'stale'; readonly record: Uint8Array | undefined; readonly config: Uint8Array | undefined };

export default function plan({ state, wanted }: PublicationTask): PublicationOutcome {
  const { subject, record, config } = state;
  const planned = planPublication({ subject, record: asBuffer(record), config: asBuffer(config) }, wanted);
  if (planned.kind !== 'stale') return planned;
  const [recordAfter, configAfter] = planned.changes.map(({ value }) => value);
  return { kind: 'stale', record: recordAfter, config: configAfter };
}

/** A buffer comes as a plain array. */
function asBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
