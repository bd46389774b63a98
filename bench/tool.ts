// The one tool that the bench's backends serve, and its answer: the backends write it, the load compares with it.

export const TOOL_NAME = 'add';
export const TOOL_ARGUMENTS = '{"a":3,"b":4}';

/** How a backend frames its answers: one JSON object, or an event stream with the answer as its one event. */
export type AnswerStyle = 'json' | 'event-stream';

/** What follows the id in the answer of a backend. Names the backend, so that a call that strays is seen. */
export function toolAnswerTail(backend: string): string {
  const text = `Backend ${backend} was asked to add 3 and 4, and finds that the sum of the two numbers is 7.`;
  return `,"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":false}}`;
}

/** @param id the JSON-RPC id as it stands in the request's bytes. */
export function toolAnswer(backend: string, id: string): string {
  return `{"jsonrpc":"2.0","id":${id}${toolAnswerTail(backend)}`;
}

export function asEventStream(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}
