// Slips in what both stores have in common: keys, swaps, and the reading of user configs.
import { mutantsOf, type Mutant } from '../mutant.js';

export const configMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/user-config/auth.ts',
    ['user-config/auth', 'user-config/compile-config'],
    [
      {
        slip: 'a header of the gateway may be set by a caller',
        text: '|^(?:proxy-|content-|accept|mcp-)/;',
        becomes: '|^(?:proxy-|content-|accept)/;',
      },
      {
        slip: 'one header may be set twice',
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
        slip: 'a secret may be a file of another directory',
        text: 'const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;',
        becomes: 'const NAME = /^[A-Za-z0-9.][A-Za-z0-9./_-]*$/;',
      },
      {
        slip: 'the list of hosts is a secret as well',
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
        slip: 'a sealed secret opens under any name',
        text: 'JSON.stringify([FORM, name, keyId, origins, updatedAt])',
        becomes: 'JSON.stringify([FORM, keyId, origins, updatedAt])',
      },
      {
        slip: 'whoever writes the store says where a secret goes',
        text: 'JSON.stringify([FORM, name, keyId, origins, updatedAt])',
        becomes: 'JSON.stringify([FORM, name, keyId, updatedAt])',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/sealing.ts',
    ['shared/sealing'],
    [
      { slip: 'a nonce is used again', text: 'nonces.next()', becomes: 'Buffer.alloc(NONCE_BYTES)' },
      { slip: 'what a seal is for is in it, and not looked at', text: 'decipher.setAAD(use);', becomes: '' },
      {
        slip: 'parts of other lengths are others',
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
        slip: 'a secret of the store goes anywhere',
        text: 'if (!secret.origins.includes(origin)) return withheld(name);',
        becomes: 'void origin;',
      },
      {
        slip: 'a secret goes to any host',
        text: "return stamp === ABSENT || (text ?? '')",
        becomes: "return stamp !== '' || (text ?? '')",
      },
      {
        slip: 'a changed secret is never read',
        text: 'if (known !== undefined && nowMs - known.checkedAtMs < limits.secretCheckMs) return known;',
        becomes: 'if (known !== undefined) return known;',
      },
      {
        slip: 'the line break stays',
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
        slip: 'the shorter of two names that fit wins',
        text: '(a, b) => Buffer.byteLength(b[member]) - Buffer.byteLength(a[member])',
        becomes: '(a, b) => Buffer.byteLength(a[member]) - Buffer.byteLength(b[member])',
      },
      { slip: 'a query is lost', text: 'path: url.pathname + url.search }', becomes: 'path: url.pathname }' },
      {
        slip: 'plain text passes where TLS is wanted',
        text: "if (url.protocol === 'http:' && upstreamMode === 'tls-only') return 'plain-text-refused';",
        becomes: '',
      },
      {
        slip: 'a header in capitals is never copied',
        text: 'isHttpToken).map(toLowerCase)',
        becomes: 'isHttpToken)',
      },
      {
        slip: 'no tool allowed means none',
        text: 'return names.length > 0 ? new Set(names) : undefined;',
        becomes: 'return new Set(names);',
      },
      {
        slip: 'a transport that is not spoken is tried',
        text: "if (config.transport === 'STDIO') return 'transport-unsupported';",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/user-configs.ts',
    ['user-config/user-configs'],
    [
      { slip: 'an empty value is a broken config', text: 'if (value.length === 0) return missing;', becomes: '' },
      {
        slip: 'a config that was compiled once serves for ever',
        text: 'if (known.value.equals(value)) {',
        becomes: 'if (known.value.length > 0) {',
      },
      {
        slip: 'the same bytes in another buffer are compiled anew',
        text: 'if (known.value.equals(value)) {',
        becomes: 'if (known.value.length === 0) {',
      },
      { slip: 'the store is not told to forget', text: 'this.#store.forget(subject);', becomes: '' },
      {
        slip: 'a broken config is parsed at each request',
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
        slip: 'a config may not be as large as it may be',
        text: 'if (bytes.length > limits.userConfigBytesMax)',
        becomes: 'if (bytes.length >= limits.userConfigBytesMax)',
      },
      {
        slip: 'bytes that are not UTF-8 are read',
        text: "if (!isUtf8(bytes)) return refuse('not UTF-8');",
        becomes: '',
      },
      { slip: 'a URL may carry a password', text: " && url.password === '';", becomes: ';' },
      { slip: 'a URL may carry a user', text: " && url.username === ''", becomes: '' },
      {
        slip: 'a backend may have no name',
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
        slip: 'what is keyed by names has members',
        text: ' members: new Map(), each: level, isOpen: false }',
        becomes: ' members: new Map(), each: level, isOpen: true }',
      },
      {
        slip: 'what is in a known member is not looked at',
        text: 'level.members.get(name) ?? level.each',
        becomes: 'level.each',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/embedded-config-store.ts',
    ['store/config-store', 'cli/user-configs'],
    [
      { slip: 'a change takes the place of anything', text: 'if (!isExpected) return false;', becomes: '' },
      {
        slip: 'a subject is listed twice',
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
        slip: 'any number of faults is told',
        text: 'issues.slice(0, limits.userConfigIssuesMax).map',
        becomes: 'issues.map',
      },
      {
        slip: 'a member of any length is told',
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
        slip: 'a subject may not be as long as a key may be',
        text: 'key.length <= limits.storeKeyBytesMax',
        becomes: 'key.length < limits.storeKeyBytesMax',
      },
      {
        slip: 'two subjects that UTF-8 cannot hold share a key',
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
        slip: 'one try more than may be',
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
        slip: 'one swap may be of two places',
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
        slip: 'only the first records are walked over',
        text: 'if (keys.length < limits.recordsAtOnceMax) return;',
        becomes: 'return;',
        noticedBy: ['store/record-store', 'control-plane/mirror/record-mirror', 'control-plane/registry/registry-list'],
      },
    ],
  ),
];
