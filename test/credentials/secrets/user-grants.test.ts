// What users have granted, as requests read it and processes renew it; and how it is sealed again under another key.
import { pino } from 'pino';
import t from 'tap';
import { openTicket, sealTicket } from '../../../src/credentials/connect-links.js';
import { resealGrants } from '../../../src/credentials/secrets/secret-records.js';
import { openText, sealText, SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';
import {
  CLIENT_PREFIX,
  grantKeyOf,
  grantKeyPrefixOf,
  UserGrants,
  type GrantIdentity,
  type UserGrant,
} from '../../../src/credentials/secrets/user-grants.js';
import { RECORDS_AT_ONCE_MAX } from '../../../src/store/record-store.js';
import { limits } from '../../../src/shared/limits.js';
import { openRecordStore } from '../../../src/store/open-store.js';
import type { StoreRead } from '../../../src/store/store.js';
import { meddledRecords } from '../../support/meddled-records.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

const OLD = Buffer.alloc(32, 1).toString('base64');
const NEW = Buffer.alloc(32, 2).toString('base64');
const keys = new SecretKeys([OLD]);
const both = new SecretKeys([NEW, OLD]);
const PLACE: GrantIdentity = {
  subject: 'alice',
  origin: 'https://b.example',
  path: '/mcp',
  authMembers: ['scope', undefined, false],
} as const;
const KEY = grantKeyOf(PLACE);
const GRANT: UserGrant = {
  ...{ subject: 'alice', backendName: 'b', backendUrl: 'https://b.example/mcp', issuer: 'https://as.example' },
  ...{ tokenEndpoint: 'https://as.example/token', resource: '', scope: 'read', accessToken: 'at-1' },
  client: { id: 'c', authentication: 'none' },
  ...{ issuedAtMs: 1, expiresAtMs: 2, grantedAtMs: 1 },
};

/** A store that answers at once, as the embedded one does, or late. */
class Stored {
  readonly values = new Map<string, Buffer>();
  isLate = false;
  isDown = false;

  readRecord(key: string): StoreRead | Promise<StoreRead> {
    const value = this.values.get(key);
    const read: StoreRead = this.isDown
      ? { kind: 'failed', reason: 'down' }
      : value === undefined
        ? { kind: 'missing' }
        : { kind: 'found', value };
    return this.isLate ? Promise.resolve(read) : read;
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    const present = this.values.get(key);
    if (present === undefined ? expected !== undefined : expected?.equals(present) !== true) return false;
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
    return true;
  }
}

function grantsIn(stored: Stored, its = keys): UserGrants {
  const grants = UserGrants.of(stored, its);
  if (grants === undefined) throw new Error('a key was given');
  return grants;
}

t.test('without a key there are no grants, because none could be sealed', async (t) => {
  t.equal(UserGrants.of(new Stored(), new SecretKeys([])), undefined);
});

t.test(
  'a grant is read without a promise when the store needs none, and is the same object until it changes',
  async (t) => {
    const stored = new Stored();
    const grants = grantsIn(stored);
    t.same(grants.read(KEY), { kind: 'missing' });
    const first = await grants.replace(KEY, undefined, GRANT);
    t.match(first, { kind: 'found', grant: GRANT });
    t.equal(grants.read(KEY), first, 'the process that stored it need not open it');
    const other = grantsIn(stored);
    const opened = other.read(KEY);
    t.match(opened, { kind: 'found', grant: GRANT });
    stored.values.set(KEY, Buffer.from(stored.values.get(KEY)!));
    t.equal(other.read(KEY), opened, 'also when the store gives other bytes with the same content');
    await grants.replace(KEY, first?.bytes, { ...GRANT, accessToken: 'at-2' });
    t.match(other.read(KEY), { grant: { accessToken: 'at-2' } });
    stored.isLate = true;
    t.match(await other.read(KEY), { grant: { accessToken: 'at-2' } });
    stored.isDown = true;
    t.match(await other.read(KEY), { kind: 'failed', reason: 'down' });
  },
);

t.test('of two that replace or remove the same grant one wins, and the other learns it', async (t) => {
  const stored = new Stored();
  const grants = grantsIn(stored);
  const first = await grants.replace(KEY, undefined, GRANT);
  t.equal(await grants.replace(KEY, undefined, { ...GRANT, accessToken: 'late' }), undefined);
  t.match(grants.read(KEY), { grant: { accessToken: 'at-1' } });
  t.equal(await grants.remove(KEY, Buffer.from('seen before')), false);
  t.equal(first && (await grants.remove(KEY, first.bytes)), true);
  t.same(grants.read(KEY), { kind: 'missing' });
});

t.test('bytes that no key opens are a failure with a reason, and no grant', async (t) => {
  const stored = new Stored();
  stored.values.set(KEY, sealText(both.sealingKey!, KEY, JSON.stringify(GRANT)));
  t.match(grantsIn(stored).read(KEY), { kind: 'failed', reason: /with a key that is not in --secrets-key-file/ });
  t.match(grantsIn(stored, both).read(KEY), { kind: 'found' });
  stored.values.set(KEY, stored.values.get(KEY)!.subarray(0, 40));
  t.match(grantsIn(stored, both).read(KEY), { kind: 'failed', reason: /nothing that was sealed/ });
});

t.test('a grant’s record is under its subject, and its key tells neither who nor where', async (t) => {
  t.ok(KEY.startsWith(grantKeyPrefixOf('alice')));
  t.notMatch(KEY, /alice|b\.example|scope/);
  const others: GrantIdentity[] = [
    { ...PLACE, subject: 'bob' },
    { ...PLACE, origin: 'https://c.example' },
    { ...PLACE, path: '/' },
    { ...PLACE, authMembers: ['scope', false, undefined] },
    { ...PLACE, authMembers: ['scope'] },
  ];
  t.equal(new Set([KEY, ...others.map(grantKeyOf)]).size, others.length + 1);
  t.equal(grantKeyOf({ ...PLACE }), KEY);
});

t.test('a ticket says what was sealed in it, until it expires, with the keys of any plane', async (t) => {
  const auth = { type: 'oauth2-user' } as const;
  const said = { subject: 'alice', backendName: 'b', origin: 'https://b.example', path: '/mcp', auth };
  const nowMs = 1_000;
  const text = sealTicket(keys, said, nowMs) ?? '';
  t.match(text, /^[\w-]+$/, 'fit for a URL');
  const expiresAtMs = nowMs + limits.personMsMax;
  const opened = openTicket(both, text, expiresAtMs - 1);
  t.match(opened, { kind: 'opened', ticket: { ...said, expiresAtMs } });
  t.same(openTicket(keys, text, expiresAtMs), { kind: 'failed', reason: 'expired' });
  t.same(openTicket(new SecretKeys([NEW]), text, nowMs), { kind: 'failed', reason: 'forged' });
  t.same(openTicket(keys, text.slice(0, -2), nowMs), { kind: 'failed', reason: 'forged' });
  t.same(openTicket(keys, '', nowMs), { kind: 'failed', reason: 'forged' });
  t.equal(sealTicket(new SecretKeys([]), said, nowMs), undefined, 'without a key there is none');
  const again = openTicket(keys, sealTicket(keys, said, nowMs) ?? '', nowMs);
  if (opened.kind !== 'opened' || again.kind !== 'opened') throw new Error('it does not open');
  t.ok(opened.ticket.id.length >= 20 && opened.ticket.id !== again.ticket.id, 'each is another one');
  const empty = sealTicket(keys, { ...said, path: '' }, nowMs)?.length ?? 0;
  const longest = Math.floor(((limits.connectTicketCharsMax - empty) * 3) / 4);
  const long = sealTicket(keys, { ...said, path: 'p'.repeat(longest) }, nowMs);
  t.match(openTicket(keys, long ?? '', nowMs), { kind: 'opened' }, 'as long as a URL may carry');
  t.equal(sealTicket(keys, { ...said, path: 'p'.repeat(longest + 3) }, nowMs), undefined);
});

t.test('what is sealed again: every grant and client that another key sealed, however many', async (t) => {
  const records = await openRecordStore(
    { kind: 'embedded', path: createScratchDirectory(t) },
    pino({ level: 'silent' }),
  );
  t.teardown(() => records.close());
  const names = Array.from({ length: RECORDS_AT_ONCE_MAX + 2 }, (_, at) => grantKeyOf({ ...PLACE, subject: `${at}` }));
  const all = [...names, `${CLIENT_PREFIX}a`];
  const put = (key: string, value: Buffer | undefined, expected?: Buffer) =>
    ({ space: 'records', key, expected, value }) as const;
  await records.swap(all.map((name) => put(name, sealText(keys.sealingKey!, name, 'granted'))));
  await records.swap([put('others/a', sealText(keys.sealingKey!, 'others/a', 'kept'))]);
  const [busy = '', gone = '', ...rest] = names;
  const other = async (): Promise<void> => {
    turns += 1;
    const seen = await records.read({ space: 'records', key: busy });
    await records.swap([put(busy, sealText(keys.sealingKey!, busy, `renewed ${turns}`), seen)]);
  };
  let turns = 0;
  const shared = meddledRecords(records, {
    read: async (place) => (place.key === gone ? undefined : records.read(place)),
    swap: async (changes) => {
      if (changes[0]?.key === busy) await other();
      return records.swap(changes);
    },
  });
  t.same(
    await resealGrants(shared, both, both.sealingKey!),
    { resealed: rest.length + 1, failed: 1 },
    'one that another process keeps renewing fails; one that was removed meanwhile is nothing to tell',
  );
  t.equal(turns, 3, 'it is tried more than once');
  t.same(await resealGrants(records, both, both.sealingKey!), { resealed: 2, failed: 0 });
  t.same(await resealGrants(records, both, both.sealingKey!), { resealed: 0, failed: 0 });
  const value = await records.read({ space: 'records', key: busy });
  t.match(
    value && openText(new SecretKeys([NEW]), busy, value),
    { text: 'renewed 3' },
    'the old key is not needed any more',
  );
});
