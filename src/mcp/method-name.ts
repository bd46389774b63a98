// The method of a message as a string: a known method is recognized by its bytes, without decoding. Hot path.
import type { Buffer } from 'node:buffer';
import { stringValue } from '../bytes/index.js';

/** Bytes of a method's name, as repeated in the error about an unknown method. The rest is cut off. */
export const METHOD_NAME_BYTES_MAX = 256;

export const KNOWN_METHODS = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
  'tasks/list',
  'server/discover',
  'subscriptions/listen',
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tasks/status',
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/prompts/list_changed',
  'notifications/roots/list_changed',
] as const;

const knownNames: ReadonlySet<string> = new Set(KNOWN_METHODS);

/** Whether MCP itself defines the method, in whatever version. Cold path. */
export function isMcpMethod(method: string): boolean {
  return knownNames.has(method);
}

const namesByLength: string[][] = [];
for (const name of KNOWN_METHODS) (namesByLength[name.length] ??= []).push(name);

/** The method in a string token; the offsets include its quotes. A name that is longer than any real one is cut off, and not decoded. */
export function methodName(bytes: Buffer, start: number, end: number): string {
  if (end - start - 2 > METHOD_NAME_BYTES_MAX) {
    return `${bytes.toString('utf8', start + 1, start + 1 + METHOD_NAME_BYTES_MAX)}…`;
  }
  const candidates = namesByLength[end - start - 2];
  if (candidates !== undefined) {
    for (const name of candidates) {
      if (isNameAt(bytes, start + 1, name)) return name;
    }
  }
  return stringValue(bytes, start, end);
}

function isNameAt(bytes: Buffer, at: number, name: string): boolean {
  // Most names of equal length differ at the end rather than at the beginning.
  for (let index = name.length - 1; index >= 0; index--) {
    if (bytes[at + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}
