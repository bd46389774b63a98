import t from 'tap';
import { openText, sealText, SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';

const keys = new SecretKeys([Buffer.alloc(32, 1).toString('base64')]);
const other = new SecretKeys([Buffer.alloc(32, 2).toString('base64')]);
const key = keys.sealingKey!;

t.test('a text opens only for what it was sealed for', async (t) => {
  const sealed = sealText(key, 'a use', 'a text ü');
  t.notOk(sealed.includes('text'));
  t.same(openText(keys, 'a use', sealed), { kind: 'opened', text: 'a text ü', keyId: key.id });
  t.match(openText(keys, 'another', sealed), { kind: 'failed', reason: /sealed for something else/ });
  t.match(openText(other, 'a use', sealed), { kind: 'failed', reason: /with a key that is not in --secrets-key-file/ });
  t.match(openText(keys, 'a use', sealed.subarray(0, 43)), { kind: 'failed', reason: /nothing that was sealed/ });
  sealed[sealed.length - 1]! ^= 1;
  t.match(openText(keys, 'a use', sealed), { kind: 'failed', reason: /changed after it was sealed/ });
});

t.test('a text that an earlier version sealed can be opened', async (t) => {
  const sealed = Buffer.from('ZTY0NTZmZDc2MjUyZWFmOFFu8Ui3DAgTV7FS5hUCDuCdPIAd9VrZ474wwZNqGIoq4GhZnaU=', 'base64');
  t.match(openText(keys, 'a use', sealed), { kind: 'opened', text: 'a text ü' });
});

t.test('an empty text is sealed and opened as any other', async (t) => {
  t.same(openText(keys, 'a use', sealText(key, 'a use', '')), { kind: 'opened', text: '', keyId: key.id });
});
