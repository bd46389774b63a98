// What a caller says about itself in `initialize`, forwarded to each backend in the backend's own `initialize`: JSON, byte for byte as
// sent. A session keeps it for its lifetime, and counts it in its memory.
import { createHash } from 'node:crypto';
import { PROGRAM_VERSION } from '../../shared/program-version.js';

export interface ClientIntroduction {
  readonly clientInfo: Buffer;
  /** What the caller can be asked for: sampling, elicitation, roots. */
  readonly capabilities: Buffer;
}

/** For callers that have not introduced themselves: nobody could answer a backend's request. */
export const OWN_INTRODUCTION: ClientIntroduction = {
  clientInfo: Buffer.from(JSON.stringify({ name: 'switchyard', version: PROGRAM_VERSION })),
  capabilities: Buffer.from('{}'),
};

export function introductionBytes({ clientInfo, capabilities }: ClientIntroduction): number {
  return clientInfo.length + capabilities.length;
}

/** Callers with the same hash look the same to a backend. @param shown everything else that it tells callers apart by, as JSON. */
export function hashOfShown({ clientInfo, capabilities }: ClientIntroduction, shown: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify([...shown, capabilities.length]));
  return hash.update(capabilities).update(clientInfo).digest('base64');
}
