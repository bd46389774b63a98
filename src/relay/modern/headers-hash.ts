// The headers of a caller that go to backends, which may be credentials: what is opened or held under some is not for requests with
// others, and what is kept of them is their hash alone.
import { createHash } from 'node:crypto';

/** @param headers as `ExchangeRequest.passthroughHeaders`. @returns `''` for none. */
export function headersHash(headers: readonly string[]): string {
  return headers.length === 0 ? '' : createHash('sha256').update(JSON.stringify(headers)).digest('base64');
}
