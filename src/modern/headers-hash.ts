// The hash of a caller's passthrough headers, which may be credentials: what was opened or held under some headers does not serve
// requests with others, and only the hash of the headers is kept.
import { createHash } from 'node:crypto';

/** @param headers as `ExchangeRequest.passthroughHeaders`. @returns `''` for none. */
export function headersHash(headers: readonly string[]): string {
  return headers.length === 0 ? '' : createHash('sha256').update(JSON.stringify(headers)).digest('base64');
}
