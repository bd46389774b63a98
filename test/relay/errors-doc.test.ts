// docs/errors.md and the program agree on the JSON-RPC errors that the gateway makes, and on the ways in which a backend fails, in both
// directions.
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { faultReason, upstreamFault, type UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';
import { errorsToBackends, rpcErrors, type RpcError } from '../../src/shared/rpc-errors.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const documentation = readFileSync(join(root, 'docs/errors.md'), 'utf8');

/** The rows of the table in a section, without its head. */
function rowsOf(title: string): string[][] {
  const section = documentation.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A message of docs/errors.md with `<>` in place of each variable part. */
function shapeOf(message: string): string {
  return message.replace(/<[^>]*>/g, '<>');
}

type Entry = RpcError | ((...words: never[]) => RpcError);

/** All errors of a table, as `code message`, with `<>` in place of each variable part. */
function madeBy(table: Readonly<Record<string, Entry>>): string[] {
  return Object.values(table).map((entry) => {
    const make = entry as RpcError | ((...words: string[]) => RpcError);
    const { code, message } = typeof make === 'function' ? make(...Array<string>(make.length).fill('<>')) : make;
    return `${code} ${message}`;
  });
}

t.test('every JSON-RPC error that the gateway makes has a row, and every row an error', async (t) => {
  const sections = { 'Errors of requests': rpcErrors, 'Errors to backends': errorsToBackends };
  for (const [title, table] of Object.entries(sections)) {
    const documented = rowsOf(title).map(([code, message = '']) => `${code} ${shapeOf(message.slice(1, -1))}`);
    t.strictSame(documented.toSorted(), madeBy(table).toSorted(), title);
  }
});

t.test('an error whose text never varies cannot be changed by anybody who is given it', async (t) => {
  for (const table of [rpcErrors, errorsToBackends]) {
    t.ok(Object.isFrozen(table));
    for (const [name, entry] of Object.entries(table))
      t.ok(typeof entry === 'function' || Object.isFrozen(entry), name);
  }
});

/** What makes refusals and errors; everything else may only read and compare codes. */
const MAKERS = new Set(['shared/refusals.ts', 'shared/rpc-errors.ts']);

/** The places in a source where a code is used in another way than to compare it, or to put one in place of another in bytes of a backend. */
function otherUsesIn(source: string): string[] {
  const withoutImports = source.replace(/^(?:import\b|export \{)[^;]*;$/gm, '');
  return [
    ...[
      ...withoutImports.matchAll(
        /^.*?(?<!(?:[=!]== |case |String\(|Object\.values\())\b(?:rpcCodes|modernCodes)\b.*$/gm,
      ),
    ],
    ...[...withoutImports.matchAll(/^.*\bcode: ?-\d.*$/gm)],
  ].map(([line]) => line.trim());
}

t.test('no JSON-RPC error is made outside the tables', async (t) => {
  t.strictSame(otherUsesIn('return { code: rpcCodes.refused, message };').length, 1);
  t.strictSame(otherUsesIn('const { refused } = rpcCodes;').length, 1);
  t.strictSame(otherUsesIn("const error = { code: -32000, message: 'Refused' };").length, 1);
  t.strictSame(otherUsesIn('return code === rpcCodes.refused;'), []);
  const folder = join(root, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => file.endsWith('.ts') && !MAKERS.has(file));
  t.ok(files.length > 100, 'the sources were read');
  const faults = files.flatMap((file) =>
    otherUsesIn(readFileSync(join(folder, file), 'utf8')).map((line) => `${file}: ${line}`),
  );
  t.strictSame(faults, []);
});

/** The compiler checks that no kind is missing. */
const kinds = {
  'connection-refused': true,
  'connect-timeout': true,
  'name-not-resolved': true,
  'address-refused': true,
  'address-not-allowed': true,
  'connect-failed': true,
  'proxy-failed': true,
  'tls-failed': true,
  'connection-lost': true,
  'request-invalid': true,
  'answer-timeout': true,
  'not-ready': true,
  'answer-invalid': true,
  'answer-encoded': true,
  'answer-too-large': true,
  'answer-incomplete': true,
  'stream-not-resumed': true,
  'answers-share-used': true,
  'answers-full': true,
  'lists-share-used': true,
  'lists-full': true,
  'answer-unread': true,
  'http-status': true,
  redirected: true,
  'session-lost': true,
  'era-refused': true,
  'initialize-refused': true,
  'initialize-unknown': true,
  'discover-refused': true,
  'version-unsupported': true,
  'version-later': true,
  'plain-text-refused': true,
  'transport-unsupported': true,
  'endpoint-missing': true,
  'endpoint-elsewhere': true,
  'stream-lost': true,
  'id-in-use': true,
  'secrets-off': true,
  'secret-keys-missing': true,
  'secret-unreadable': true,
  'secret-withheld': true,
  'token-refused': true,
  'token-unavailable': true,
  'caller-token-missing': true,
  'consent-missing': true,
  'list-refused': true,
  'list-cut': true,
  'backend-busy': true,
  'backend-share-used': true,
  'connections-used': true,
  'connections-share-used': true,
  'task-unreachable': true,
  'session-ended': true,
} as const satisfies Readonly<Record<UpstreamFaultKind, true>>;

/** Placeholders for the details that some reasons include. */
const DETAILS: Partial<Readonly<Record<UpstreamFaultKind, string>>> = {
  'http-status': '<status>',
  redirected: '<place>',
  'answer-encoded': '<name>',
  'list-refused': '<method>',
  'stream-not-resumed': '<status>',
};

t.test('every way in which a backend fails has a row with its reason, and every row is such a way', async (t) => {
  const reasons = (Object.keys(kinds) as UpstreamFaultKind[]).map((kind) => {
    const detail = DETAILS[kind];
    return [`\`${kind}\``, `\`${faultReason({ kind, isUnsent: false, ...(detail !== undefined && { detail }) })}\``];
  });
  const documented = rowsOf('Why a backend failed').map(([kind, reason]) => [kind, reason]);
  t.strictSame(documented, reasons);
});

t.test('every row says when, and what to do', async (t) => {
  for (const title of ['Errors of requests', 'Errors to backends', 'Why a backend failed']) {
    for (const row of rowsOf(title)) {
      t.equal(row.length, 4, row.join(' | '));
      t.ok(
        row.every((cell) => cell !== ''),
        row.join(' | '),
      );
    }
  }
});

t.test('no reason names an address, a URL or a port', async (t) => {
  for (const [kind] of Object.entries(kinds)) {
    t.notMatch(faultReason(upstreamFault(kind as UpstreamFaultKind)), /\d|:\/\/|\blocalhost\b/, kind);
  }
});
