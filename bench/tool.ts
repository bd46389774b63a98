// The tools that the bench's backends serve, and their responses: the backends send them, the load compares with them.

const LARGE_TEXT_CHARS = 1024 * 1024;

/** ASCII that JSON need not escape, and no two stretches alike, so that a lost or moved piece is noticed. */
const largeText = Array.from({ length: LARGE_TEXT_CHARS / 16 }, (_, row) => `row ${String(row).padStart(11)};`).join(
  '',
);

export interface BenchTool {
  readonly name: string;
  /** Byte for byte as in each call. */
  readonly arguments: string;
  /** Contains the backend's name, so that a misrouted call is noticed. */
  readonly text: (backend: string) => string;
}

export const addTool: BenchTool = {
  name: 'add',
  arguments: '{"a":3,"b":4}',
  text: (backend) => `Backend ${backend} was asked to add 3 and 4, and finds that the sum of the two numbers is 7.`,
};

/** Takes 1 MiB. */
export const storeTool: BenchTool = {
  name: 'store',
  arguments: `{"text":"${largeText}"}`,
  text: (backend) => `Backend ${backend} has it.`,
};

/** Answers 1 MiB. */
export const fetchTool: BenchTool = {
  name: 'fetch',
  arguments: '{}',
  text: (backend) => `Backend ${backend} gives: ${largeText}`,
};

/** Asks before it answers. */
export const confirmTool: BenchTool = {
  name: 'confirm',
  arguments: '{"a":3,"b":4}',
  text: (backend) => `Backend ${backend} was told to go on, and finds that the sum of the two numbers is 7.`,
};

/** By name. */
export const tools: ReadonlyMap<string, BenchTool> = new Map(
  [addTool, storeTool, fetchTool, confirmTool].map((tool) => [tool.name, tool]),
);

/** How a backend frames its responses: one JSON object, or an event stream with the response as its one event. */
export type AnswerStyle = 'json' | 'event-stream';

/** The part of a backend's response after the id. */
export function toolAnswerTail(backend: string, tool: BenchTool): string {
  return `,"result":{"content":[{"type":"text","text":${JSON.stringify(tool.text(backend))}}],"isError":false}}`;
}

/** The same for a backend of MCP 2026-07-28, and for any backend where the caller is of that revision. */
export function modernAnswerTail(backend: string, tool: BenchTool): string {
  return toolAnswerTail(backend, tool).replace('"result":{', '"result":{"resultType":"complete",');
}

/** @param id the JSON-RPC id, byte for byte as in the request. */
export function toolAnswer(backend: string, id: string, tool = addTool): string {
  return `{"jsonrpc":"2.0","id":${id}${toolAnswerTail(backend, tool)}`;
}

export function asEventStream(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}
