// The thread entry, called by piscina, that plans large publications.
import { planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export interface PublicationTask {
  readonly state: PublicationState;
  readonly wanted: ReadonlyMap<string, string>;
}

/** A plan without the previous values, which need not be sent back. */
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

/** A buffer arrives as a plain array. */
function asBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
