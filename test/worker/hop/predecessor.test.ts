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
  readonly pass: (body: string) => void;
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
        t.same(hop, HOP);
        heard.push(exchange.request.body.toString());
        exchange.respond(202, '', '');
      },
    });
    await listener.listen();
    t.teardown(() => listener.close());
    return listener;
  };
  const pass = (body: string): void => {
    predecessor.send(HOP, new RecordedExchange({ body: Buffer.from(body) }).request);
  };
  return { hops, heard, pass, listen };
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

t.test('of those that wait, a bounded number is kept, and each is passed on once', async (t) => {
  const { pass, listen, heard } = stage(t);
  const max = hopBounds.predecessorCancellationsMax;
  for (let number = 0; number < max + 5; number += 1) pass(`${number}`);
  await new Promise((resolve) => setTimeout(resolve, hopBounds.ownerRetryMs / 2));
  await listen();
  await until(() => heard.length === max, 'those that waited');
  pass('last');
  await until(() => heard.includes('last'), 'one more');
  t.equal(heard.length, max + 1);
  t.equal(new Set(heard).size, max + 1);
});

t.test('a worker that is over passes nothing on', async (t) => {
  const { hops, pass, listen, heard } = stage(t);
  pass('waiting');
  hops.close();
  await listen();
  pass('later');
  await new Promise((resolve) => setTimeout(resolve, 3 * hopBounds.ownerRetryMs));
  t.same(heard, []);
});
