// Slips in what both stores have in common: keys, swaps, and the reading of user configs.
import { mutantsOf, type Mutant } from '../mutant.js';

export const configMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/user-config/auth.ts',
    ['user-config/auth', 'user-config/compile-config'],
    [
      {
        slip: 'a header that begins with `mcp-` may be copied from a caller or set by a config',
        text: '|^(?:proxy-|content-|accept|mcp-)/;',
        becomes: '|^(?:proxy-|content-|accept)/;',
      },
      {
        slip: 'a config may set one header twice, in different letter case',
        text: 'if (new Set(names.map((name) => name.toLowerCase())).size < names.length)',
        becomes: 'if (new Set(names).size < names.length)',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/secret-name.ts',
    ['user-config/auth'],
    [
      {
        slip: 'the name of a secret may lead to a file of another directory',
        text: 'const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;',
        becomes: 'const NAME = /^[A-Za-z0-9.][A-Za-z0-9./_-]*$/;',
      },
      {
        slip: 'the list of hosts of a secret counts as a secret itself',
        text: ' && !name.endsWith(HOSTS_FILE_SUFFIX)',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/secrets/sealed-secret.ts',
    ['secrets/secret-records'],
    [
      {
        slip: 'a sealed secret can be opened under another name',
        text: 'JSON.stringify([FORM, name, keyId, origins, updatedAt])',
        becomes: 'JSON.stringify([FORM, keyId, origins, updatedAt])',
      },
      {
        slip: 'whoever can write to the store can change the origins that a sealed secret goes to',
        text: 'JSON.stringify([FORM, name, keyId, origins, updatedAt])',
        becomes: 'JSON.stringify([FORM, name, keyId, updatedAt])',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/sealing.ts',
    ['shared/sealing'],
    [
      { slip: 'every seal uses the same nonce', text: 'nonces.next()', becomes: 'Buffer.alloc(NONCE_BYTES)' },
      {
        slip: 'the intended use of sealed bytes is not checked when they are unsealed',
        text: 'decipher.setAAD(use);',
        becomes: '',
      },
      {
        slip: 'a nonce or tag of the wrong length is accepted',
        text: 'nonce.length === NONCE_BYTES && tag.length === TAG_BYTES ?',
        becomes: 'true ?',
      },
    ],
  ),
  ...mutantsOf(
    'src/upstream/credentials/secrets.ts',
    ['upstream/credentials/secrets'],
    [
      {
        slip: 'a secret of the store is sent to any origin',
        text: 'if (!secret.origins.includes(origin)) return withheld(name);',
        becomes: 'void origin;',
      },
      {
        slip: 'the secret of a file is sent to any host',
        text: "return stamp === ABSENT || (text ?? '')",
        becomes: "return stamp !== '' || (text ?? '')",
      },
      {
        slip: 'a changed secret file is never read again',
        text: 'if (known !== undefined && nowMs - known.checkedAtMs < limits.secretCheckMs) return known;',
        becomes: 'if (known !== undefined) return known;',
      },
      {
        slip: 'the line break at the end of a secret file becomes part of the secret',
        text: ".replace(/\\r?\\n$/, '')",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/compile-config.ts',
    ['user-config/compile-config'],
    [
      {
        slip: 'of two names or prefixes that match, the shorter one wins',
        text: '(a, b) => Buffer.byteLength(b[member]) - Buffer.byteLength(a[member])',
        becomes: '(a, b) => Buffer.byteLength(a[member]) - Buffer.byteLength(b[member])',
      },
      {
        slip: "the query of a backend's URL is lost",
        text: 'path: url.pathname + url.search }',
        becomes: 'path: url.pathname }',
      },
      {
        slip: 'a plain-text URL is accepted where only TLS is allowed',
        text: "if (url.protocol === 'http:' && upstreamMode === 'tls-only') return 'plain-text-refused';",
        becomes: '',
      },
      {
        slip: 'a passthrough header that the config has in capitals is never copied',
        text: 'isHttpToken).map(toLowerCase)',
        becomes: 'isHttpToken)',
      },
      {
        slip: 'an empty allow-list allows nothing instead of everything',
        text: 'return names.length > 0 ? new Set(names) : undefined;',
        becomes: 'return new Set(names);',
      },
      {
        slip: 'a backend with an unsupported transport is used',
        text: "if (config.transport === 'STDIO') return 'transport-unsupported';",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/user-configs.ts',
    ['user-config/user-configs'],
    [
      {
        slip: 'an empty value counts as a broken config',
        text: 'if (value.length === 0) return missing;',
        becomes: '',
      },
      {
        slip: 'a compiled config is used for ever, even after a change',
        text: 'if (known.value.equals(value)) {',
        becomes: 'if (known.value.length > 0) {',
      },
      {
        slip: 'a config with the same bytes in another buffer is compiled again',
        text: 'if (known.value.equals(value)) {',
        becomes: 'if (known.value.length === 0) {',
      },
      { slip: 'the store is not told to forget the subject', text: 'this.#store.forget(subject);', becomes: '' },
      {
        slip: 'a broken config is parsed again at each request',
        text: '    this.#compiled.set(subject, { value, read });',
        becomes: "    if (read.kind === 'found') this.#compiled.set(subject, { value, read });",
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/user-config-schema.ts',
    ['user-config/user-config-schema'],
    [
      {
        slip: 'a config of exactly the largest allowed size is refused',
        text: 'if (bytes.length > limits.userConfigBytesMax)',
        becomes: 'if (bytes.length >= limits.userConfigBytesMax)',
      },
      {
        slip: 'a config that is not UTF-8 is read',
        text: "if (!isUtf8(bytes)) return refuse('not UTF-8');",
        becomes: '',
      },
      { slip: 'a URL may contain a password', text: " && url.password === '';", becomes: ';' },
      { slip: 'a URL may contain a user name', text: " && url.username === ''", becomes: '' },
      {
        slip: 'a backend may have an empty name',
        text: "z.string().min(1, 'a backend name must not be empty')",
        becomes: 'z.string()',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/known-members.ts',
    ['user-config/check-user-config', 'user-config/user-config-schema'],
    [
      {
        slip: 'names that a user chooses are checked as if they were members',
        text: ' members: new Map(), each: level, isOpen: false }',
        becomes: ' members: new Map(), each: level, isOpen: true }',
      },
      {
        slip: 'the content of a known member is not checked',
        text: 'level.members.get(name) ?? level.each',
        becomes: 'level.each',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/embedded-config-store.ts',
    ['store/config-store', 'cli/user-configs'],
    [
      {
        slip: 'a change replaces whatever is stored, expected or not',
        text: 'if (!isExpected) return false;',
        becomes: '',
      },
      {
        slip: 'the subject at the end of a page is listed twice',
        text: '(key) => last === undefined || !key.equals(last)',
        becomes: '() => true',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/config-issue.ts',
    ['user-config/user-config-schema'],
    [
      {
        slip: 'the number of reported issues has no bound',
        text: 'issues.slice(0, limits.userConfigIssuesMax).map',
        becomes: 'issues.map',
      },
      {
        slip: 'the reported path of a member has no bound',
        text: ".join('.').slice(0, limits.userConfigIssuePathCharsMax);",
        becomes: ".join('.');",
      },
    ],
  ),
  ...mutantsOf(
    'src/store/store-key.ts',
    ['store/embedded-store', 'store/redis-store', 'store/record-store'],
    [
      { slip: 'an empty subject has a key', text: 'key.length > 0 && ', becomes: '' },
      {
        slip: 'a subject exactly as long as a key may be has no key',
        text: 'key.length <= limits.storeKeyBytesMax',
        becomes: 'key.length < limits.storeKeyBytesMax',
      },
      {
        slip: 'two subjects with lone surrogates share a key',
        text: 'if (!isUnicodeText(subject)) return undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/retry-swap.ts',
    ['store/retry-swap'],
    [
      {
        slip: 'one try more than the limit is made',
        text: 'tries < limits.recordSwapTriesMax',
        becomes: 'tries <= limits.recordSwapTriesMax',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/record-store.ts',
    ['store/record-store', 'store/redis-records'],
    [
      {
        slip: 'one swap may change records of two places',
        text: 'if (places.size > 1) throw',
        becomes: 'if (places.size > 2) throw',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/record-walk.ts',
    ['store/record-store', 'control-plane/compositions/publisher'],
    [
      {
        slip: 'only the first page of records is walked over',
        text: 'if (keys.length < limits.recordsAtOnceMax) return;',
        becomes: 'return;',
        noticedBy: ['store/record-store', 'control-plane/mirror/record-mirror', 'control-plane/registry/registry-list'],
      },
    ],
  ),
];
