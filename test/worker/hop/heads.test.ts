import t from 'tap';
import { StreamFault, hopBounds } from '../../../src/worker/hop/frames.js';
import {
  parseCredit,
  parseOpenBody,
  parseText,
  parseRequestHead,
  parseRespondHead,
  trySendRespondHead,
} from '../../../src/worker/hop/heads.js';
import type { HopSocket } from '../../../src/worker/hop/socket.js';
import { Random } from '../../support/random.js';
import { head, requestHead, respondHead, u32 } from './raw-peer.js';

// That heads are decoded as they were encoded is tested over real sockets, in hops.test.ts.

t.test('heads that are cut short anywhere, or too long, are refused', async (t) => {
  const request = requestHead(7);
  const respond = respondHead(7);
  for (let length = 0; length < request.length; length++) {
    t.throws(() => parseRequestHead(request.subarray(0, length)), StreamFault);
  }
  for (let length = 0; length < respond.length; length++) {
    t.throws(() => parseRespondHead(respond.subarray(0, length)), StreamFault);
  }
  t.throws(() => parseRequestHead(Buffer.concat([request, Buffer.from('x')])), StreamFault);
  t.equal(parseRequestHead(request).bodyBytes, 7);
  t.equal(parseRespondHead(respond).bodyBytes, 7);
});

t.test('the head of an answer that the other worker would refuse is not sent', (t) => {
  let sent = 0;
  const addFrame = (_kind: string, _stream: number, bytes: number): Buffer => {
    sent += 1;
    return Buffer.alloc(bytes);
  };
  const socket = { addFrame } as unknown as HopSocket;
  const send = (bodyBytes: number): boolean =>
    trySendRespondHead(socket, 1, { bodyBytes, status: 200, contentType: '', sessionId: undefined, headers: [] });
  t.equal(send(hopBounds.hopAnswerBytesMax + 1), false);
  t.equal(sent, 0);
  t.equal(send(hopBounds.hopAnswerBytesMax), true);
  t.equal(sent, 1);
  t.end();
});

t.test('unknown codes, odd string lengths and wrong credits are refused', async (t) => {
  const strings = ['a-subject', 'a-host', 'a-session', '', 'an-id', 'a-parent', ''];
  t.throws(() => parseRequestHead(head([0, 0, 0, 0, 3, 0, 0, 0], strings)), StreamFault, 'method');
  t.throws(() => parseRequestHead(head([0, 0, 0, 0, 0, 3, 0, 0], strings)), StreamFault, 'answer forms');
  t.throws(
    () => parseRequestHead(head([0, 0, 0, 0, 0, 0, 2, 0], [...strings, '2026-07-28', 'm'])),
    StreamFault,
    'no name',
  );
  t.throws(
    () => parseRequestHead(head([0, 0, 0, 0, 0, 0, 4, 0], [...strings, 'v', 'm', 'n', 'p'])),
    StreamFault,
    'no value',
  );
  t.throws(() => parseRequestHead(head([0, 0, 0, 0, 0, 0, 2, 0], [...strings, 'v'])), StreamFault, 'fewer than said');
  t.throws(() => parseText(Buffer.concat([u32(3), Buffer.from('abc')])), StreamFault);
  t.throws(() => parseText(Buffer.concat([u32(0xfffffffe), Buffer.from('ab')])), StreamFault);
  for (const payload of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(5)])
    t.throws(() => parseCredit(payload), StreamFault);
  t.equal(parseCredit(u32(99)), 99);
  const openBody = Buffer.concat([u32(99), Buffer.of(1)]);
  t.same(parseOpenBody(openBody), { contentType: 'text/event-stream', bodyBytes: 99 });
  for (const payload of [u32(99), Buffer.concat([openBody, Buffer.of(0)]), Buffer.concat([u32(99), Buffer.of(2)])])
    t.throws(() => parseOpenBody(payload), StreamFault);
});

t.test('whatever its bytes are, a head is read or refused with a StreamFault', async (t) => {
  const random = new Random(4_711);
  const valid = requestHead(0);
  let refused = 0;
  for (let round = 0; round < 5_000; round++) {
    const bytes = Buffer.from(valid);
    for (let change = 0; change <= random.below(4); change++) bytes[random.below(bytes.length)] = random.below(256);
    for (const read of [parseRequestHead, parseRespondHead, parseText]) {
      try {
        read(bytes);
      } catch (fault) {
        if (!(fault instanceof StreamFault)) throw fault;
        refused++;
      }
    }
  }
  t.ok(refused > 1_000);
});
