import t from 'tap';
import {
  sealRecord,
  sessionKeys,
  unsealRecord,
  decodeSessionRecord,
  encodeSessionRecord,
} from '../../../src/session/directory/session-record.js';
import { limits } from '../../../src/shared/limits.js';

const ID = 'a-session-id-that-nobody-can-guess';
const KEYS = sessionKeys(ID);
const OWNER = { id: ID, subject: 'alice', virtualHostId: 'vh' };
const BYTES = Buffer.from('what the gateway knows of a session');

t.test('a record is opened by its session id and its owner, and by nothing else', async (t) => {
  const sealed = sealRecord(OWNER, BYTES);
  t.same(unsealRecord(OWNER, sealed), BYTES);
  t.equal(unsealRecord({ ...OWNER, id: `${ID}x` }, sealed), undefined, 'another session');
  t.equal(unsealRecord({ ...OWNER, subject: 'bob' }, sealed), undefined, 'another subject');
  t.equal(unsealRecord({ ...OWNER, virtualHostId: 'other' }, sealed), undefined, 'another virtual host');
  t.equal(
    unsealRecord({ id: ID, subject: 'alicev', virtualHostId: 'h' }, sealed),
    undefined,
    'the same letters, parted elsewhere',
  );
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = changed[at]! ^ 1;
    t.equal(unsealRecord(OWNER, changed), undefined, `a bit of byte ${at} changed`);
  }
  for (const length of [0, 12, 27, sealed.length - 1])
    t.equal(unsealRecord(OWNER, sealed.subarray(0, length)), undefined);
});

t.test('a sealed record reveals nothing of its content, and no two seals are alike', async (t) => {
  const sealed = sealRecord(OWNER, BYTES);
  for (const text of [ID, OWNER.subject, BYTES.toString()]) t.notOk(sealed.includes(text), text);
  t.notOk(sealed.includes(KEYS.record) || sealed.includes(KEYS.seal));
  t.notSame(KEYS.record, KEYS.seal);
  t.notOk(KEYS.record.includes(ID));
  t.notSame(sealRecord(OWNER, BYTES), sealed, 'a fresh nonce each time');
});

t.test('a record that an earlier version sealed can be opened', async (t) => {
  const sealed = Buffer.from('3L1rLOidjWWMYRSl7GmfczmkJtreZ1TE+eP9/az8r+SdiKbG', 'base64');
  const opened = unsealRecord({ id: 'id', subject: 'alicé', virtualHostId: 'vh' }, sealed);
  t.equal(opened?.toString(), 'a record');
});

const RECORD = {
  protocolVersion: '2025-11-25',
  clientInfo: Buffer.from('{"name":"ü\\u0000","version" : "1"}'),
  capabilities: Buffer.from([0x7b, 0xff, 0x80, 0x7d]),
  logLevel: Buffer.from('{"level":"error"}'),
  upstreams: [
    {
      backendName: 'one',
      origin: 'https://one.example',
      path: '/mcp?tenant=7',
      sessionId: 'an upstream id',
      protocolVersion: '2025-06-18',
      capabilities: 513,
      named: [{ name: 'acme/ü' }, { name: '__proto__', isExtension: true }],
    },
  ],
  subscriptions: { one: ['file:///ü', 'x:\u2028'] },
  allowLists: {},
};

t.test('a record is decoded byte for byte', async (t) => {
  t.same(decodeSessionRecord(encodeSessionRecord(RECORD)), RECORD);
  const small = { ...RECORD, logLevel: undefined, upstreams: [], subscriptions: {} };
  t.same(decodeSessionRecord(encodeSessionRecord(small)), small);
});

t.test('a record that would be too long is written without its subscriptions', async (t) => {
  const subscriptions = { one: ['x:'.padEnd(limits.sessionRecordBytesMax, 'x')] };
  const decoded = decodeSessionRecord(encodeSessionRecord({ ...RECORD, subscriptions }));
  t.same(decoded, { ...RECORD, subscriptions: {} });
});
