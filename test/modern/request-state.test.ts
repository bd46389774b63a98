import { randomBytes } from 'node:crypto';
import t from 'tap';
import {
  headersHash,
  argumentsHash,
  newCallKey,
  RequestStates,
  type StateBinding,
} from '../../src/modern/request-state.js';
import { limits } from '../../src/shared/limits.js';

const binding: StateBinding = {
  subject: 'alice',
  virtualHostId: 'vh',
  method: 'tools/call',
  name: 'b-t',
  argsHash: argumentsHash(Buffer.from('{"a":1}')),
  headersHash: '',
};
const secret = randomBytes(32);

t.test('a state tells every worker of the gateway where its call is', async (t) => {
  const place = { slot: 513, callKey: newCallKey(), round: 7 };
  const state = new RequestStates(secret).seal(binding, place);
  t.same(new RequestStates(Buffer.from(secret)).open(binding, state), place);
  t.not(new RequestStates(secret).seal(binding, place), state, 'two of one call differ');
  t.not(newCallKey(), newCallKey());
});

t.test('a state opens for its own request alone', async (t) => {
  const states = new RequestStates(secret);
  const state = states.seal(binding, { slot: 1, callKey: newCallKey(), round: 1 });
  const others: Partial<StateBinding>[] = [
    { subject: 'bob' },
    { virtualHostId: 'other' },
    { method: 'prompts/get' },
    { name: 'b-u' },
    { argsHash: argumentsHash(Buffer.from('{"a":2}')) },
    { argsHash: argumentsHash(Buffer.alloc(0)) },
    { headersHash: headersHash(['x-api-key', 'another']) },
    { subject: 'alice","vh', virtualHostId: '' },
  ];
  for (const other of others) t.equal(states.open({ ...binding, ...other }, state), undefined, JSON.stringify(other));
  t.ok(states.open(binding, state), 'and for that one it does');
});

t.test('a forged state, or one of another gateway, does not open', async (t) => {
  const states = new RequestStates(secret);
  const state = states.seal(binding, { slot: 1, callKey: newCallKey(), round: 1 });
  t.equal(new RequestStates(randomBytes(32)).open(binding, state), undefined, 'another key');
  const bytes = Buffer.from(state, 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const forged = Buffer.from(bytes);
    forged[at]! ^= 1;
    t.equal(states.open(binding, forged.toString('base64url')), undefined, `byte ${at}`);
  }
  const texts = [
    '',
    'x',
    state.slice(1),
    `${state}A`,
    ` ${state}`,
    `${state}=`,
    randomBytes(bytes.length).toString('base64url'),
  ];
  for (const text of texts) t.equal(states.open(binding, text), undefined, text);
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
  const spellings = letters.map((letter) => state.slice(0, -1) + letter);
  t.same(
    spellings.filter((text) => states.open(binding, text) !== undefined),
    [state],
    'it has one spelling',
  );
});

t.test('a state expires, which only its own request learns', async (t) => {
  let nowMs = 1_900_000_000_000;
  const states = new RequestStates(secret, () => nowMs);
  const state = states.seal(binding, { slot: 1, callKey: newCallKey(), round: 1 });
  nowMs += limits.personMsMax - 1;
  t.ok(states.open(binding, state));
  nowMs += 1_002;
  t.equal(states.open(binding, state), 'expired');
  t.equal(states.open({ ...binding, subject: 'bob' }, state), undefined, 'of which nobody else learns');
});

t.test('a state of an earlier version opens', async (t) => {
  const states = new RequestStates(Buffer.alloc(32, 3), () => 1_800_000_000_000);
  const sealed = 'Yjf5GItQxm-Gyh2qDpLMdvY2YYqw-m-B7kV2jynd6lA8cwQGO0-yGdBAdVFmvqvw';
  const place = states.open({ ...binding, name: 'tool', argsHash: 'a', headersHash: 'h' }, sealed);
  t.same(place, { slot: 2, callKey: Buffer.alloc(12, 7).toString('base64url'), round: 3 });
});
