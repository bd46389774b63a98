// Searches everything that a run has left where its sessions are kept for secrets that must not be there: ids of sessions and of
// upstream sessions, and tokens. It also checks that the records themselves are there, since a search of nothing finds nothing.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sessionKeys } from '../../src/session/directory/session-record.js';
import type { RedisServer } from './redis.js';

export interface SearchedRun {
  readonly sessionIds: readonly string[];
  readonly upstreamIds: readonly string[];
  readonly tokens: readonly string[];
}

export interface SearchOutcome {
  readonly searchedBytes: number;
  readonly searchedFor: number;
  /** The secrets that were found. */
  readonly secrets: readonly string[];
  /** Sessions of which there is neither a record nor a trace of one. */
  readonly unwritten: readonly string[];
}

/** The contents of all files in the folder and its subfolders. */
export function filesIn(folder: string): Buffer[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return paths.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path));
}

/** Every key with its value, and the append-only file, which has everything that was ever written. */
export async function dumpOf(redis: RedisServer): Promise<Buffer[]> {
  const connection = await redis.connect();
  const keys = await connection.keysBuffer('*');
  const values = await Promise.all(keys.map((key) => connection.getBuffer(key)));
  return [...keys, ...values.map((value) => value ?? Buffer.alloc(0)), ...filesIn(redis.directory)];
}

export function searchFor({ sessionIds, upstreamIds, tokens }: SearchedRun, dump: readonly Buffer[]): SearchOutcome {
  // Separated by a newline, so that two adjacent texts cannot form a word that is in neither.
  const all = Buffer.concat(dump.flatMap((bytes) => [bytes, Buffer.from('\n')]));
  const wanted = [...new Set([...sessionIds, ...upstreamIds, ...tokens])];
  if (wanted.some((each) => each.length < 8)) throw new Error('one of these may be anywhere');
  return {
    searchedBytes: all.length,
    searchedFor: wanted.length,
    secrets: wanted.filter((each) => all.includes(each)),
    unwritten: sessionIds.filter((id) => !all.includes(sessionKeys(id).record)),
  };
}

/** One line, for a program's output. */
export function searchInWords({ searchedBytes, searchedFor, secrets, unwritten }: SearchOutcome): string {
  return (
    `${searchedBytes} bytes of what is kept, searched for ${searchedFor} ids and tokens: ${secrets.length} found; ` +
    `${unwritten.length} sessions without a record`
  );
}
