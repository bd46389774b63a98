import t from 'tap';
import { plainReason, reasonWords } from '../../ui/model/reason-words.js';

t.test(
  'a reason that names an option says what is missing, whom to ask, and keeps the option for the operator',
  async (t) => {
    for (const [reason, plain, task] of [
      ['its auth needs --secrets-key-file', /^its credentials are in the gateway’s store/, /--secrets-key-file\.$/],
      ['its auth needs --secrets-directory', /^its credentials are in files/, /a --secrets-directory with/],
      [
        'github: it is encrypted with the key ab12, which is not in --secrets-key-file',
        /^github: it is encrypted with the key ab12, which the gateway does not have$/,
        /add that key to --secrets-key-file/,
      ],
      [
        'a secret of its auth cannot be read (key-1: is not in the store)',
        /^its secret key-1 is not stored yet$/,
        /store it with switchyard secrets set\.$/,
      ],
      [
        'a secret of its auth may not be sent to its host (key-1)',
        /^its secret key-1 may not be sent to its address$/,
        /among its --origins\.$/,
      ],
      [
        'its URL is not https: plain http needs --upstream-connection-mode plain-text-or-tls',
        /^its URL is not https: this gateway uses https alone$/,
        /allow it \(--upstream-connection-mode plain-text-or-tls\)/,
      ],
      [
        'there is no connection to it through --upstream-proxy (HTTP 403)',
        /^the proxy on the way to it makes no connection \(HTTP 403\)$/,
        /--upstream-proxy or HTTPS_PROXY/,
      ],
      [
        'TLS failed UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        /does not trust \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)$/,
        /--upstream-ca/,
      ],
    ] as const) {
      t.match(plainReason(reason), plain);
      t.notMatch(plainReason(reason), /--/);
      t.match(reasonWords(reason), /\. Ask the operator of this gateway to /);
      t.match(reasonWords(reason), task);
    }
  },
);

t.test('an option of an unknown reason is for the operator too; other reasons stay as they are', async (t) => {
  const unknown = 'This control plane does not know it: start it with --dataplane-admin-address.';
  t.equal(reasonWords(unknown), `${unknown} Options are set where the gateway is started: ask its operator.`);
  for (const reason of [
    'it refuses connections',
    'TLS failed CERT_HAS_EXPIRED',
    'correct it, refresh the server, or use force=true (--force) to name it anyway',
    'x: the operator has to check --sign-in-client-id.',
  ]) {
    t.equal(reasonWords(reason), reason);
    t.equal(plainReason(reason), reason);
  }
});
