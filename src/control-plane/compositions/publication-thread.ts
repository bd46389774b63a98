// Entry of the thread that plans large publications; piscina calls it.
import { toBuffer, planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export interface PublicationTask {
  readonly state: PublicationState;
  readonly wanted: ReadonlyMap<string, string>;
}

export default function plan({ state, wanted }: PublicationTask): PublicationPlan {
  const { subject, record, config } = state;
  return planPublication({ subject, record: toBuffer(record), config: toBuffer(config) }, wanted);
}
