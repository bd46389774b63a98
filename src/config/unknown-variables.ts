// Environment variables with the program's prefix that nothing reads: a misspelled one would silently leave its option at the default. One
// file of variables may serve several commands, so the variables of every command are known.
import { nameLike } from '../shared/likeness.js';
import * as tablesOfPeople from './cli-option-table.js';
import { environmentVariable } from './option.js';
import * as tablesOfPlanes from './option-table.js';

const PREFIX = 'SWITCHYARD_';

/** Tokens come only from the environment (cli-request.ts). */
export const TOKEN_VARIABLE = `${PREFIX}TOKEN`;

const tables: readonly object[] = [...Object.values(tablesOfPlanes), ...Object.values(tablesOfPeople)];
const known: ReadonlySet<string> = new Set([
  TOKEN_VARIABLE,
  ...tables.flatMap((table) => Object.keys(table).map(environmentVariable)),
]);

/** @returns one line per fault; empty variables count as not set. */
export function unknownVariableFaults(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(PREFIX) || value === '' || known.has(name) || isOfService(name, value)) return [];
    const meant = nameLike(name, known);
    return [
      `${name}: no option reads it; ${meant === undefined ? 'remove it' : `correct it to ${meant}, or remove it`}`,
    ];
  });
}

/**
 * Kubernetes describes each service in variables of other containers, and a service may well be named after the program:
 * SWITCHYARD_SERVICE_HOST, SWITCHYARD_PORT=tcp://10.0.0.1:8001, SWITCHYARD_PORT_8001_TCP_ADDR.
 */
function isOfService(name: string, value: string): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  return (
    /_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
    (/_PORT$/.test(name) && /^\w+:\/\//.test(value))
  );
}
