// Options for signing in to the console by OpenID Connect, checked against the others. What would fail only at the first sign-in is refused
// at start-up, where it is noticed.
import type { SignInOptions } from './control-plane-options.js';
import type { OptionReader } from './option-reader.js';
import type { controlPlaneOptionTable } from './option-table.js';
import type { OptionValues } from './option.js';

type Table = typeof controlPlaneOptionTable;

/** Adds faults that involve several options. */
export function checkSignIn(reader: OptionReader<Table>): void {
  if (!reader.isGiven('sign-in-issuer')) {
    for (const name of DETAILS) {
      if (reader.isGiven(name)) reader.fault(name, 'has no effect without --sign-in-issuer; give that, too');
    }
    return;
  }
  for (const name of ['sign-in-client-id', 'connect-url'] as const) {
    if (!reader.isGiven(name)) reader.fault('sign-in-issuer', `needs --${name}; give that, too`);
  }
  const issuer = reader.value('sign-in-issuer');
  if (issuer === undefined) return;
  if (issuer.startsWith('http:') && reader.value('upstream-connection-mode') === 'tls-only')
    reader.fault('sign-in-issuer', 'is an http URL, which needs --upstream-connection-mode plain-text-or-tls');
  const trusted = [
    ...(reader.value('token-issuer') ?? []),
    ...(reader.value('token-jwks-url') ?? []).map((source) => source.issuer),
  ];
  if (trusted.includes(issuer)) return;
  reader.fault(
    'sign-in-issuer',
    'is in neither --token-jwks-url nor --token-issuer, so its tokens would be refused; add it there, with exactly the same spelling',
  );
}

/** `undefined` when OpenID Connect is not used to sign in. */
export function arrangeSignIn(values: OptionValues<Table>): SignInOptions | undefined {
  const { 'sign-in-issuer': issuer, 'sign-in-client-id': clientId, 'connect-url': consoleUrl } = values;
  if (issuer === undefined || clientId === undefined || consoleUrl === undefined) return undefined;
  return {
    ...{ issuer, clientId, consoleUrl },
    clientSecret: values['sign-in-client-secret-file'],
    scope: values['sign-in-scope'],
    resource: values['sign-in-resource'],
  };
}

const DETAILS = ['sign-in-client-id', 'sign-in-client-secret-file', 'sign-in-scope', 'sign-in-resource'] as const;
