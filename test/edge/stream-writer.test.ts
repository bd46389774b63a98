// Every byte of a stream arrives, in order, however little of it the kernel takes at a time.
import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import type { HttpResponse } from 'uWebSockets.js';
import { StreamWriter } from '../../src/edge/stream-writer.js';
import { Random } from '../support/random.js';

/** How much the library buffers in a cork. */
const GATHERED_BYTES = 16 * 1024;
/** What the library buffers beside a slice: the response's head, at its largest, and the head of the chunk. */
const HEAD_BYTES = 1_024;

/** Takes slices, and reports at random that some of its bytes are held back. */
class ScriptedResponse {
  readonly slices: Buffer[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  cork(run: () => void): this {
    run();
    return this;
  }

  write(slice: Uint8Array): boolean {
    this.slices.push(Buffer.from(slice));
    return this.#random.below(3) > 0;
  }
}

t.test('no slice is larger than the library’s buffer, and none is left out', async (t) => {
  const random = new Random(20_261_122);
  const response = new ScriptedResponse(random);
  // The writer uses no other members of a response.
  const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
  const written: Buffer[] = [];
  for (let n = 0; n < 300; n += 1) {
    const event = Buffer.from(`data: ${String(n).repeat(random.below(30_000))}\n\n`);
    written.push(event);
    let hasRoom = writer.write(event);
    for (let tries = 0; !hasRoom && tries < 1_000; tries += 1) hasRoom = writer.writeMore();
    if (!hasRoom) t.fail(`event ${n} is not taken to its end`);
  }
  const largest = Math.max(...response.slices.map((slice) => slice.length));
  t.ok(largest + HEAD_BYTES <= GATHERED_BYTES, `at most ${largest} bytes at once`);
  const stream = Buffer.concat(response.slices)
    .toString('latin1')
    .replaceAll(/^:.*\n\n/gm, '');
  t.ok(stream === Buffer.concat(written).toString('latin1'), 'the stream is there to the byte');
});

/** Commands for a network namespace whose sockets hold 16 KiB: the kernel's buffers are full a thousand times a second. */
const SMALL_NETWORK = [
  'ip link set lo up',
  'echo "4096 16384 65536" > /proc/sys/net/ipv4/tcp_wmem',
  'echo "4096 16384 65536" > /proc/sys/net/ipv4/tcp_rmem',
  'exec "$@"',
].join(' && ');
const IN_SMALL_NETWORK = ['-rn', 'sh', '-c', SMALL_NETWORK, 'sh'];

function whyNoNetwork(): string | false {
  try {
    execFileSync('unshare', [...IN_SMALL_NETWORK, 'true'], { stdio: 'pipe' });
    return false;
  } catch (error) {
    return `no network of its own can be made here: ${error instanceof Error ? error.message : String(error)}`;
  }
}

t.test('events of any size arrive whole where sockets hold little', { skip: whyNoNetwork() }, async (t) => {
  const program = fileURLToPath(new URL('stream-in-small-network.js', import.meta.url));
  const { stdout } = await promisify(execFile)('unshare', [...IN_SMALL_NETWORK, process.execPath, program]);
  t.match(stdout, /^\d+ events, \d+ times held back: whole\n$/);
  t.comment(stdout.trim());
});

/** Records what is written to a response: one list for each `cork`. */
class CorkedResponse {
  readonly corks: string[][] = [];

  cork(run: () => void): this {
    this.corks.push([]);
    run();
    return this;
  }

  note(what: string): true {
    this.corks.at(-1)?.push(what);
    return true;
  }

  readonly write = (slice: Uint8Array): boolean => this.note(String(slice.length));
  readonly end = (): boolean => this.note('end');
}

t.test('the head is sent with the first event, and the last event with the end', async (t) => {
  const rows: [what: string, events: readonly number[], last: number, corks: readonly (readonly string[])[]][] = [
    ['one small event', [], 100, [['head', '100', 'end']]],
    ['several', [100, 200], 300, [['head', '100'], ['200'], ['300', 'end']]],
    ['a large one, which might not fit beside the head', [10_000], 100, [['head'], ['10000'], ['100', 'end']]],
    ['no event at all', [], 0, [['head', 'end']]],
  ];
  for (const [what, events, last, corks] of rows) {
    const response = new CorkedResponse();
    const writer = new StreamWriter(response as unknown as HttpResponse, () => response.note('head'));
    for (const bytes of events) t.ok(writer.write(Buffer.alloc(bytes)));
    t.ok(writer.canEndWith(last), what);
    writer.end(Buffer.alloc(last));
    t.same(response.corks, corks, what);
    t.equal(
      writer.writtenBytes,
      events.reduce((sum, bytes) => sum + bytes, last),
    );
  }
});

t.test('an end that a slow caller might not take is not sent unwatched', async (t) => {
  const response = new CorkedResponse();
  const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
  t.notOk(writer.canEndWith(9_000), 'large');
  for (let written = 0; written <= 14_000; written += 1_000) writer.write(Buffer.alloc(1_000));
  t.notOk(writer.canEndWith(10), 'behind much that may be held back');
});

t.test('a comment line is written only behind a whole event', async (t) => {
  for (const [written, isWhole] of [
    ['data: 1\n\n', true],
    ['data: 1\n', false],
    ['data: 1\n\nd', false],
  ] as const) {
    const response = new CorkedResponse();
    const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
    writer.write(Buffer.from(written));
    t.ok(writer.writeComment());
    t.equal(response.corks.length, isWhole ? 2 : 1, JSON.stringify(written));
  }
});

t.test('what is written while something waits comes behind it, whole', async (t) => {
  const response = new ScriptedResponse(new Random(7));
  const write = response.write.bind(response);
  let hasRoom = false;
  response.write = (slice) => (write(slice), hasRoom);
  const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
  const events = [40_000, 10, 20_000].map((bytes, index) => Buffer.from(`data: ${String(index).repeat(bytes)}\n\n`));
  for (const event of events) t.notOk(writer.write(event));
  hasRoom = true;
  while (!writer.writeMore());
  t.ok(Buffer.concat(response.slices).toString('latin1').startsWith(Buffer.concat(events).toString('latin1')));
});

t.test('within an event nothing is put between its parts to learn whether they have gone out', async (t) => {
  const response = new CorkedResponse();
  const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
  writer.write(Buffer.from('data: 1'));
  t.ok(writer.writeMore());
  t.same(response.corks, [['7'], []], 'an empty cork');
  writer.write(Buffer.from('2\n\n'));
  t.ok(writer.writeMore());
  t.equal(response.corks.length, 4, 'behind it a comment');
});

t.test('the end of a stream is left to the library once it has all bytes, and they are few', async (t) => {
  for (const [bytes, hasRoom, isLeft] of [
    [14 * 1024, true, true],
    [14 * 1024, false, true],
    [14 * 1024 + 1, true, false],
    [20_000, false, false],
  ] as const) {
    const response = Object.assign(new CorkedResponse(), { write: () => hasRoom });
    const writer = new StreamWriter(response as unknown as HttpResponse, () => {});
    writer.write(Buffer.alloc(bytes));
    t.equal(writer.canEndWhileBlocked, isLeft, `${bytes} ${hasRoom}`);
  }
});
