// docs/errors.md and the relay agree on the JSON-RPC errors that the relay makes, and on the ways in which a backend fails, in both
// directions.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { faultReason, upstreamFault, type UpstreamFaultKind } from '../../src/upstream/http/upstream-fault.js';
import { rpcCodes } from '../../src/shared/refusals.js';

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

/** A message with `<>` in place of each variable part. */
function shapeOf(message: string): string {
  return message.replace(/<[^>]*>|\$\{[^}]*(?:\([^)]*\))?\}/g, '<>');
}

t.test('every JSON-RPC error that the relay makes has a row, and every row an error', async (t) => {
  const folder = join(root, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?:relay|upstream)\b.*\.ts$/.test(file),
  );
  const source = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  const codes: Readonly<Record<string, number>> = rpcCodes;
  // In the sources an error of the gateway is always written `code: rpcCodes.…, message: …`.
  const made = [...source.matchAll(/code: rpcCodes\.(\w+),\s+message:\s+(['`])(.*?)\2/g)].map(
    ([, code = '', , message = '']) => `${codes[code]} ${shapeOf(message)}`,
  );
  const documented = [...rowsOf('Errors of requests'), ...rowsOf('Errors to backends')].map(
    ([code, message = '']) => `${code} ${shapeOf(message.slice(1, -1))}`,
  );
  t.ok(made.length > 5, 'the sources were read');
  t.strictSame(documented.toSorted(), made.toSorted());
  const uses = source.match(/code: rpcCodes\./g)?.length;
  t.equal(uses, made.length, 'no error is written in another way');
});

/** The compiler checks that no kind is missing. */
const kinds = {
  'connection-refused': true,
  'connect-timeout': true,
  'name-not-resolved': true,
  'address-refused': true,
  'address-not-allowed': true,
  'connect-failed': true,
  'tls-failed': true,
  'connection-lost': true,
  'request-invalid': true,
  'answer-timeout': true,
  'not-ready': true,
  'answer-invalid': true,
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
