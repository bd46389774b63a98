// Reasons for people who cannot start the gateway: one that names an option of its command line says in plain words what is missing, and
// whom to ask for what. The option's name stays, for the operator.

/** What a reason says, what it means, and what the operator can do. `$1` is the first group. */
const KNOWN: readonly (readonly [RegExp, string, string])[] = [
  [
    /its auth needs --secrets-key-file/,
    'its credentials are in the gateway’s store, and the gateway has no key to read them',
    'give both planes the same --secrets-key-file',
  ],
  [
    /its auth needs --secrets-directory/,
    'its credentials are in files, and the gateway does not know where',
    'give both planes a --secrets-directory with these files',
  ],
  [
    /encrypted with (the key \S+?|a key),? (?:which|that) is not in --secrets-key-file/,
    'encrypted with $1, which the gateway does not have',
    'add that key to --secrets-key-file, or to set the secret again with switchyard secrets set',
  ],
  [
    /a secret of its auth cannot be read \((\S+): is not in the store\)/,
    'its secret $1 is not stored yet',
    'store it with switchyard secrets set',
  ],
  [
    /a secret of its auth may not be sent to its host \((\S+)\)/,
    'its secret $1 may not be sent to its address',
    'set it again with switchyard secrets set, with that address among its --origins',
  ],
  [
    /plain(?:-text)? http needs --upstream-connection-mode plain-text-or-tls/i,
    'this gateway uses https alone',
    'allow it (--upstream-connection-mode plain-text-or-tls), or use an https address',
  ],
  [
    /its address is not in --upstream-allowed-networks/,
    'it is in a network that this gateway may not reach',
    'add the network to --upstream-allowed-networks',
  ],
  [
    /there is no connection to it through --upstream-proxy|no connection through --upstream-proxy/,
    'the proxy on the way to it makes no connection',
    'check the proxy (--upstream-proxy or HTTPS_PROXY), or to have it allow this server',
  ],
  [
    /TLS (?:handshake )?failed \(?((?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)\w+)\)?/,
    'its certificate is of an authority that the gateway does not trust ($1)',
    'add that authority to --upstream-ca of both planes',
  ],
  [
    /servers cannot be connected here: that needs --connect-url and --secrets-key-file/i,
    'Servers cannot be connected at this gateway',
    'set --connect-url and --secrets-key-file',
  ],
];

/** Options of `switchyard servers` and `compositions`, which are not the operator's. */
const OPTION = /(?:^|[\s(`])--(?!force\b)[a-z]+-[a-z]/;

/** The reason without options where it is known, for places with little room. */
export function plainReason(reason: string): string {
  return KNOWN.reduce((text, [pattern, words]) => text.replace(pattern, words), reason);
}

/** Whom to ask for what, where it is not in the reader's hands. */
export function taskWords(reason: string): string {
  const [, , task] = KNOWN.find(([pattern]) => pattern.test(reason)) ?? [];
  if (task !== undefined) return `Ask the operator of this gateway to ${task}.`;
  if (!OPTION.test(reason) || reason.includes('the operator')) return '';
  return 'Options are set where the gateway is started: ask its operator.';
}

/** The reason, and whom to ask for what. */
export function reasonWords(reason: string): string {
  const task = taskWords(reason);
  return task === '' ? reason : `${plainReason(reason).replace(/\.$/, '')}. ${task}`;
}
