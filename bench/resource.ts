// The resource that the bench's backends serve, and its response: the backends send it, the load compares with it.

const TEXT_BYTES = 4 * 1024;

export const resourceUri = 'bench://shelf/report';

/** ASCII, 4 KiB, and no two lines alike. Contains the backend's name, so that a misrouted read is noticed. */
function resourceText(backend: string): string {
  const lines = Array.from({ length: TEXT_BYTES / 16 }, (_, row) => `line ${row} of the report of ${backend};`);
  return lines.join(' ').slice(0, TEXT_BYTES);
}

/** @param uri the resource's URI as the reader of the response knows it. */
export function resourceAnswerTail(backend: string, uri: string): string {
  const contents = [{ uri, mimeType: 'text/plain', text: resourceText(backend) }];
  return `,"result":${JSON.stringify({ contents })}}`;
}

/** @param id the JSON-RPC id, byte for byte as in the request. */
export function resourceAnswer(backend: string, id: string, uri: string): string {
  return `{"jsonrpc":"2.0","id":${id}${resourceAnswerTail(backend, uri)}`;
}
