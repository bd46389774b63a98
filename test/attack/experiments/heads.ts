// What a caller may send as a request's head, and how it may split it.
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeRequest, type RawConnection } from '../../support/raw-http.js';
import { inParallel } from '../../support/in-parallel.js';
import { expect, tally, type Experiment } from '../experiment.js';

const MIB = 1_048_576;
/** For a refusal, or for closing a connection without one: after 8 to 12 s, as docs/limits.md says of the HTTP library. */
const REFUSED_MS_MAX = 15_000;
/** At how many places in the tail of the request line a split makes the HTTP library answer 505, as docs/limits.md says. */
const UNREADABLE_CUTS_MAX = 11;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

export const headRequests: Experiment = {
  name: 'head-requests',
  isOnceInShort: true,
  expected: 'HEAD has an answer without a body, and the next answer on its connection is the right one',
  async run(stage) {
    const caller = await stage.caller({});
    const connection = await stage.connect();
    const statuses: string[] = [];
    for (const path of ['/gw-rs/health', caller.path, '/gw-rs/nowhere', '/'].flatMap((one) => [one, one])) {
      connection.write(encodeRequest(stage.origin, { method: 'HEAD', path, headers: [] }));
      const { status } = await connection.readAnswer('HEAD');
      connection.write(encodeRequest(stage.origin, caller.request({ session: 'nobody', body: PING })));
      // If HEAD had a response body, it would be read as the head of this response.
      const behind = await statusOf(connection.readAnswer());
      statuses.push(`${path === '/gw-rs/health' ? 'health' : 'other'} ${status}, then ${behind}`);
    }
    const seen = tally(statuses);
    expect(
      statuses.every((status) => /^(health 200|other \d{3}), then 404$/.test(status)),
      seen,
    );
    return seen;
  },
};

export const splitRequests: Experiment = {
  name: 'split-requests',
  isLong: true,
  expected: `a call that is cut in two is answered as a whole one, but for 505 at ${UNREADABLE_CUTS_MAX} places of its request line; none is carried out twice`,
  async run(stage) {
    const backend = await stage.backend();
    const session = await (await stage.caller({ one: { url: backend.url } })).openSession();
    const body = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","arguments":{"n":1.0}}}';
    const bytes = encodeRequest(stage.origin, session.caller.request({ session: session.id, body }));
    const answers: string[] = [];
    await inParallel([...Array(bytes.length - 1).keys()], 16, async (at) => {
      const connection = await stage.connect();
      connection.write(bytes.subarray(0, at + 1));
      await sleep(15);
      connection.write(bytes.subarray(at + 1));
      const status = await statusOf(connection.readAnswer());
      answers.push(status);
      connection.close();
    });
    const seen = `${tally(answers)}; ${backend.calls.length} calls at the backend`;
    const served = answers.filter((answer) => answer === '200').length;
    const unreadable = answers.filter((answer) => answer === '505').length;
    const isAll = served + unreadable === answers.length && backend.calls.length === served;
    expect(isAll && unreadable <= UNREADABLE_CUTS_MAX, seen);
    return seen;
  },
};

/** Heads that must be refused, and the possible outcomes. */
const REFUSED_HEADS: Readonly<
  Record<string, { readonly lines: readonly string[]; readonly statuses: readonly string[] }>
> = {
  'two lengths': { lines: ['content-length: 0', 'content-length: 40'], statuses: ['400'] },
  'a space in a name': { lines: ['a name: value', 'content-length: 0'], statuses: ['400', 'cut off'] },
  'two origins': {
    lines: ['origin: https://foreign.example', 'origin: http://localhost:3000', 'content-length: 0'],
    statuses: ['403'],
  },
  'no number as a chunk': { lines: ['transfer-encoding: chunked', '', 'zz'], statuses: ['400', 'cut off'] },
};

export const refusedHeads: Experiment = {
  name: 'refused-heads',
  isLong: true,
  expected: `heads that are wrong are refused or cut off within ${REFUSED_MS_MAX / 1_000} s, and nothing behind two lengths is a request`,
  async run(stage) {
    const caller = await stage.caller({});
    const headers = caller.request({ session: 'nobody' }).headers.map(([name, value]) => `${name}: ${value}`);
    const host = `host: ${new URL(stage.origin).host}`;
    const answers: string[] = [];
    let areRight = true;
    await inParallel(Object.entries(REFUSED_HEADS), 8, async ([what, { lines, statuses }]) => {
      const connection = await stage.connect(2 * REFUSED_MS_MAX);
      const beganMs = performance.now();
      const head = [`POST ${caller.path} HTTP/1.1`, host, ...headers, ...lines, '', ''].join('\r\n');
      connection.write(head);
      const status = await statusOf(connection.readAnswer());
      const tookMs = performance.now() - beganMs;
      const end = what === 'two lengths' ? await behind(connection, caller.path, host) : '';
      answers.push(`${what}: ${status}${end}`);
      areRight &&= statuses.includes(status) && tookMs < REFUSED_MS_MAX && end !== ', goes on';
    });
    const seen = answers.join(', ');
    expect(areRight, seen);
    return seen;
  },
};

/** Whether one more request on a connection is answered. */
async function behind(connection: RawConnection, path: string, host: string): Promise<string> {
  connection.write(`HEAD ${path} HTTP/1.1\r\n${host}\r\n\r\n`);
  return (await statusOf(connection.readHead())) === 'cut off' ? ', closed' : ', goes on';
}

export const largeInitialize: Experiment = {
  name: 'large-initialize',
  isOnceInShort: true,
  expected: 'an initialize that is as large as a body may be is refused or served, and holds nobody up',
  async run(stage) {
    const caller = await stage.caller({});
    const lanes = await Promise.all(Array.from({ length: 4 }, () => stage.kept(caller)));
    const filler = '[],'.repeat((4 * MIB - 1_000) / 3);
    const members = [
      `"capabilities":{"experimental":{"x":{"y":[${filler}[]]}}},"clientInfo":{"name":"a","version":"1"}`,
      `"capabilities":{},"clientInfo":{"name":"${'a'.repeat(4 * MIB - 1_000)}","version":"1"}`,
    ];
    const statuses: string[] = [];
    await inParallel(lanes, lanes.length, async (lane) => {
      for (let turn = 0; turn < stage.scaled(40, 6); turn++) {
        const params = `{"protocolVersion":"2025-11-25",${members[turn % members.length]}}`;
        statuses.push(await statusOf(lane.initialize({ params })));
      }
    });
    const seen = tally(statuses);
    expect(
      statuses.every((status) => ['200', '400', '413', '429', '503'].includes(status)),
      seen,
    );
    return seen;
  },
};

/** The status of a response, or the fact that none came. */
export async function statusOf(answer: Promise<{ readonly status: number }>): Promise<string> {
  try {
    return String((await answer).status);
  } catch {
    return 'cut off';
  }
}
