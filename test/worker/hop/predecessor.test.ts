// A worker that was just replaced during a reload, and the cancellations that its successor passes on to it.
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { HopListener } from '../../../src/worker/hop/intake.js';
import { Hops, Predecessor, predecessorSocketPath } from '../../../src/worker/hop/hops.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';
import { BODY_BYTES_MAX, HOP, logger, roomForAll } from './pair.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

interface Stage {
  readonly hops: Hops;
  /** The bodies that the replaced worker got. */
  readonly heard: readonly string[];
  readonly pass: (body: string, subject?: string) => void;
  /** The bodies whose memory was given back. */
  readonly done: readonly string[];
  /** The replaced worker learns that it is replaced. */
  readonly listen: () => Promise<HopListener>;
}

function stage(t: Test): Stage {
  const directory = createScratchDirectory(t);
  const path = predecessorSocketPath(directory, 1);
  const secret = randomBytes(32);
  const hops = new Hops(directory, secret, logger);
  const predecessor = new Predecessor(hops, path);
  t.teardown(() => hops.close());
  const heard: string[] = [];
  const listen = async (): Promise<HopListener> => {
    const listener = new HopListener(path, {
      secret,
      bodyBytesMax: BODY_BYTES_MAX,
      answerMemory: roomForAll(t),
      logger,
      onExchange: (hop, exchange) => {
        t.equal(hop.virtualHostId, HOP.virtualHostId);
        heard.push(exchange.request.body.toString());
        exchange.respond(202, '', '');
      },
    });
    await listener.listen();
    t.teardown(() => listener.close());
    return listener;
  };
  const done: string[] = [];
  const pass = (body: string, subject = HOP.subject): void => {
    const { request } = new RecordedExchange({ body: Buffer.from(body) });
    predecessor.send({ ...HOP, subject }, request, () => done.push(body));
  };
  return { hops, heard, done, pass, listen };
}

t.test(
  'a cancellation reaches the replaced worker, also one that comes before it knows that it is replaced',
  async (t) => {
    const { pass, listen, heard } = stage(t);
    pass('early');
    await new Promise((resolve) => setTimeout(resolve, 2 * hopBounds.ownerRetryMs));
    t.same(heard, []);
    await listen();
    await until(() => heard.length === 1, 'the early one');
    pass('late');
    await until(() => heard.length === 2, 'the late one');
    t.same(heard, ['early', 'late']);
  },
);

t.test('of those that wait, each subject has a share, and each is passed on once', async (t) => {
  const { pass, listen, heard, done } = stage(t);
  const max = hopBounds.predecessorMessagesMax / 4;
  for (let number = 0; number < max + 5; number += 1) pass(`${number}`);
  pass('of another subject', 'another');
  await until(() => done.length === 5, 'those beyond the share to be dropped');
  await listen();
  await until(() => heard.length === max + 1, 'those that waited');
  pass('last');
  await until(() => heard.includes('last'), 'one more');
  t.ok(heard.includes('of another subject'));
  t.equal(new Set(heard).size, max + 2);
  await until(() => done.length === max + 7, 'the memory of all to be given back');
  t.equal(new Set(done).size, done.length, 'once');
});

t.test('the memory of a message is given back when the replaced worker is lost, and when there is none', async (t) => {
  const { pass, listen, done } = stage(t);
  const listener = await listen();
  pass('first');
  await until(() => done.length === 1, 'the first');
  await listener.close();
  pass('lost');
  await until(() => done.length === 2, 'the one that was lost');
});

t.test('a worker that is over passes nothing on', async (t) => {
  const { hops, pass, listen, heard, done } = stage(t);
  pass('waiting');
  hops.close();
  await listen();
  pass('later');
  await new Promise((resolve) => setTimeout(resolve, 3 * hopBounds.ownerRetryMs));
  t.same(heard, []);
  t.same(done.toSorted(), ['later', 'waiting']);
});
