import t from 'tap';
import {
  OWN_INTRODUCTION,
  type ClientIntroduction,
  Introductions,
  INTRODUCTIONS_KNOWN_MAX,
  INTRODUCTION_SHARED_BYTES_MAX,
} from '../../../src/upstream/session/client-introduction.js';

function said(name: string, capabilities = '{}'): ClientIntroduction {
  return { clientInfo: Buffer.from(JSON.stringify({ name })), capabilities: Buffer.from(capabilities) };
}

t.test('sessions of one client share a copy that outlives the text it was read from', async (t) => {
  const introductions = new Introductions();
  const first = said('a', '{"roots":{}}');
  const kept = introductions.sharedCopyOf(first);
  t.same(kept, said('a', '{"roots":{}}'));
  first.clientInfo.fill(0);
  t.same(kept, said('a', '{"roots":{}}'));
  t.equal(introductions.sharedCopyOf(said('a', '{"roots":{}}')), kept);
  t.not(introductions.sharedCopyOf(said('a')), kept);
  t.same(introductions.sharedCopyOf(said('a')), said('a'));
  t.same(introductions.sharedCopyOf(said('b')), said('b'));
});

t.test('a long introduction is copied for each session, and none keeps more memory than its bytes', async (t) => {
  const introductions = new Introductions();
  const long = said('x'.repeat(INTRODUCTION_SHARED_BYTES_MAX));
  const kept = introductions.sharedCopyOf(long);
  t.same(kept, long);
  t.not(introductions.sharedCopyOf(long), kept);
  t.equal(kept.clientInfo.buffer.byteLength, long.clientInfo.length + long.capabilities.length);
  t.equal(kept.capabilities.buffer, kept.clientInfo.buffer);
});

t.test('an absent introduction is used as it is, without a copy', async (t) => {
  t.equal(new Introductions().sharedCopyOf(OWN_INTRODUCTION), OWN_INTRODUCTION);
});

t.test('introductions that were not used for long are forgotten', async (t) => {
  const introductions = new Introductions();
  const kept = introductions.sharedCopyOf(said('a'));
  for (let index = 0; index < INTRODUCTIONS_KNOWN_MAX; index++) introductions.sharedCopyOf(said(`n${index}`));
  t.not(introductions.sharedCopyOf(said('a')), kept);
});
