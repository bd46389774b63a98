// What a caller says of itself in `initialize`, and each backend is told in its own: JSON, every byte as sent. A session
// keeps it for as long as it is, and counts it in its memory.
import { createHash } from 'node:crypto';
import { PROGRAM_VERSION } from '../../shared/program-version.js';

export interface ClientIntroduction {
  readonly clientInfo: Buffer;
  /** What the caller can be asked for: sampling, elicitation, roots. */
  readonly capabilities: Buffer;
}

/** For who has not introduced itself: nobody could answer a request of a backend's. */
export const OWN_INTRODUCTION: ClientIntroduction = {
  clientInfo: Buffer.from(JSON.stringify({ name: 'switchyard', version: PROGRAM_VERSION })),
  capabilities: Buffer.from('{}'),
};

export function introductionBytes({ clientInfo, capabilities }: ClientIntroduction): number {
  return clientInfo.length + capabilities.length;
}

/** Who differs in nothing of this gets the same of a backend, as far as it knows. @param shown all else that it goes by, as JSON has it. */
export function hashOfShown({ clientInfo, capabilities }: ClientIntroduction, shown: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify([...shown, capabilities.length]));
  return hash.update(capabilities).update(clientInfo).digest('base64');
}
