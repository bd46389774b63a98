// The resource that the bench's backends serve, and its answer: the backends write it, the load compares with it.

const TEXT_BYTES = 4 * 1024;

export const resourceUri = 'bench://shelf/report';

/** ASCII, 4 KiB, and no two lines alike. Names the backend, so that a read that strays is seen. */
function resourceText(backend: string): string {
  const lines = Array.from({ length: TEXT_BYTES / 16 }, (_, row) => `line ${row} of the report of ${backend};`);
  return lines.join(' ').slice(0, TEXT_BYTES);
}

/** @param uri as whoever reads the answer knows the resource. */
export function resourceAnswerTail(backend: string, uri: string): string {
  const contents = [{ uri, mimeType: 'text/plain', text: resourceText(backend) }];
  return `,"result":${JSON.stringify({ contents })}}`;
}

/** @param id the JSON-RPC id as it stands in the request's bytes. */
export function resourceAnswer(backend: string, id: string, uri: string): string {
  return `{"jsonrpc":"2.0","id":${id}${resourceAnswerTail(backend, uri)}`;
}
