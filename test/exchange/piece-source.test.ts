// A large answer that is sent in pieces has the same bytes as one that is sent at once.
import t from 'tap';
import { encodeEvent } from '../../src/bytes/event-stream.js';
import { EventPieces, PartPieces, type PieceSource, SENT_PIECE_BYTES } from '../../src/exchange/piece-source.js';
import { PieceSender, SENT_PER_TURN_BYTES } from '../../src/exchange/piece-sender.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { RecordedExchange } from '../support/recorded-exchange.js';

function all(source: PieceSource): Buffer {
  const pieces: Buffer[] = [];
  for (let piece = source.next(); piece !== undefined; piece = source.next()) pieces.push(piece);
  return Buffer.concat(pieces);
}

const PIECE = SENT_PIECE_BYTES;

t.test('an event in pieces equals the whole event, with line breaks of every kind anywhere', async (t) => {
  const random = new Random(9);
  for (let round = 0; round < 200; round += 1) {
    const length = random.pick([0, 1, 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 5]);
    const data = Buffer.alloc(length, 'x');
    for (let count = random.below(20); count > 0 && length > 0; count -= 1) {
      // Often near the end of a piece.
      const at = random.pick([random.below(length), PIECE - 2 + random.below(4), 2 * PIECE - 2 + random.below(4)]);
      if (at < length) data[at] = random.pick([0x0a, 0x0d]);
    }
    const cut = random.below(length + 1);
    const parts = random.pick([[data], [data.subarray(0, cut), data.subarray(cut)], [data, Buffer.alloc(0)]]);
    if (!all(new EventPieces(parts)).equals(encodeEvent(data)))
      t.fail(`round ${round}: ${length} bytes, cut at ${cut}`);
  }
});

t.test('a large body is sent over several turns, to fast and to slow callers', async (t) => {
  const parts = [Buffer.alloc(10, 'a'), Buffer.alloc(3 * SENT_PER_TURN_BYTES, 'b'), Buffer.alloc(10, 'c')];
  const whole = Buffer.concat(parts);
  for (const isSlow of [false, true]) {
    const exchange = new RecordedExchange();
    exchange.isSlow = isSlow;
    exchange.openBody('application/json', whole.length);
    new PieceSender(exchange, new PartPieces(parts), () => exchange.end()).start();
    t.ok(exchange.writtenBytes <= SENT_PER_TURN_BYTES + PIECE, 'not all at once');
    await until(() => {
      exchange.drain();
      return exchange.outcome === 'ended';
    }, 'the end');
    t.ok(exchange.written.equals(whole));
  }
});

t.test('it is told once that everything is sent, when there is room again, or the caller is gone', async (t) => {
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  exchange.openStream();
  let sentCount = 0;
  const onSent = (): void => void (sentCount += 1);
  new PieceSender(exchange, new PartPieces([Buffer.from('a')]), onSent).start();
  t.equal(sentCount, 0);
  exchange.drain();
  exchange.drain();
  t.equal(sentCount, 1);
  t.equal(exchange.written.toString(), 'a');
  t.equal(exchange.onDrain, undefined);
  exchange.isAborted = true;
  new PieceSender(exchange, new PartPieces([Buffer.from('c')]), onSent).start();
  t.equal(sentCount, 2, 'the exchange of a caller that is gone is ended, too');
  t.equal(exchange.written.toString(), 'a');
});

t.test('a cancelled sending reads no more of its message, in its queue or behind a slow caller', async (t) => {
  for (const isSlow of [false, true]) {
    const exchange = new RecordedExchange();
    exchange.isSlow = isSlow;
    exchange.openStream();
    const parts = new PartPieces([Buffer.alloc(3 * SENT_PER_TURN_BYTES, 'a')]);
    let pieceCount = 0;
    const source: PieceSource = {
      bytes: parts.bytes,
      next: () => {
        pieceCount += 1;
        return parts.next();
      },
    };
    const sending = new PieceSender(exchange, source, () => t.fail('nobody is told'));
    sending.start();
    const countBefore = pieceCount;
    t.ok(countBefore > 0);
    sending.cancel();
    exchange.drain();
    // Waits past the turn that may be due.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    t.equal(pieceCount, countBefore);
    t.equal(exchange.outcome, 'streaming', 'its end is another’s to say');
  }
});
