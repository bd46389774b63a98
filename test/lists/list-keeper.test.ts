// What the list thread keeps, task by task, tested without the thread.
import t from 'tap';
import { ListKeeper, LIST_GARBAGE_BYTES_MAX } from '../../src/lists/list-keeper.js';

const FRAME = { head: '{"id":1,"result":', framing: 'message' } as const;
const ID = '7';
const rules = JSON.stringify([{ name: 'b', prefix: 'b-', uriName: 'b', curatedTools: [], curatedPrompts: [] }]);

function pieces(...texts: readonly string[]): Uint8Array[] {
  return texts.map((text) => Uint8Array.from(Buffer.from(text)));
}

function answer(...names: readonly string[]): string {
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
  return JSON.stringify({ jsonrpc: '2.0', id: 7, result: { tools, nextCursor: 'c' } });
}

/** The rest of a list, taken in parts of three bytes. */
function takeAll(keeper: ListKeeper, key: number, bytes: number): string {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes;) {
    const part = keeper.next({ key, buffer: new Uint8Array(3) });
    parts.push(part.buffer.subarray(0, part.bytes));
    at += part.bytes;
  }
  return Buffer.concat(parts).toString();
}

t.test('an answer in pieces becomes a page, pages become a list, and the list is given in parts', async (t) => {
  const keeper = new ListKeeper(() => {});
  const text = answer('y', 'x');
  keeper.append({ key: 1, pieces: pieces(text.slice(0, 4)) });
  keeper.append({ key: 1, pieces: pieces(text.slice(4, 9), text.slice(9, 20)) });
  const outcome = keeper.read({ key: 1, pieces: pieces(text.slice(20)), bytes: text.length, id: ID, kind: 'tools' });
  t.same(outcome, { kind: 'page', itemCount: 2, nextCursor: 'c', isComplete: true, ttlMs: 0 });
  const parts = [{ backend: 0, pages: [1] }];
  const { bytes, unreachableNames } = keeper.merge({
    key: 2,
    kind: 'tools',
    rules,
    parts,
    unavailable: [],
    frame: FRAME,
  });
  t.same(unreachableNames, []);
  const tools = ['b-x', 'b-y'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  t.equal(takeAll(keeper, 2, bytes), `${FRAME.head}${JSON.stringify({ tools })}}`);
  t.throws(() => keeper.next({ key: 2, buffer: new Uint8Array(3) }), 'the list is not kept longer');
  t.throws(() => keeper.merge({ key: 3, kind: 'tools', rules, parts, unavailable: [], frame: FRAME }), 'nor the page');
});

t.test('an answer whose pieces were lost is not read', async (t) => {
  const keeper = new ListKeeper(() => {});
  const text = answer('x');
  t.throws(() => keeper.read({ key: 1, pieces: pieces(text), bytes: text.length + 1, id: ID, kind: 'tools' }), /lost/);
  t.same(
    keeper.read({ key: 1, pieces: pieces(text), bytes: text.length, id: ID, kind: 'tools' }).kind,
    'page',
    'nothing was left',
  );
});

t.test('an answer that is not a page leaves nothing behind', async (t) => {
  const keeper = new ListKeeper(() => {});
  t.same(keeper.read({ key: 1, pieces: pieces('{}'), bytes: 2, id: ID, kind: 'tools' }), { kind: 'invalid' });
  const error = '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":""}}';
  const outcome = keeper.read({ key: 1, pieces: pieces(error), bytes: error.length, id: ID, kind: 'tools' });
  t.same(outcome, { kind: 'error', code: -32601 });
  const parts = [{ backend: 0, pages: [1] }];
  t.throws(() => keeper.merge({ key: 2, kind: 'tools', rules, parts, unavailable: [], frame: FRAME }), /lost/);
});

t.test('dropped pieces, pages and lists are gone', async (t) => {
  const keeper = new ListKeeper(() => {});
  const text = answer('x');
  keeper.append({ key: 1, pieces: pieces(text) });
  keeper.read({ key: 2, pieces: pieces(text), bytes: text.length, id: ID, kind: 'tools' });
  keeper.merge({ key: 3, kind: 'tools', rules, parts: [], unavailable: [], frame: FRAME });
  keeper.drop({ keys: [1, 2, 3, 4] });
  t.throws(() => keeper.read({ key: 1, pieces: [], bytes: text.length, id: ID, kind: 'tools' }), /lost/);
  const parts = [{ backend: 0, pages: [2] }];
  t.throws(() => keeper.merge({ key: 4, kind: 'tools', rules, parts, unavailable: [], frame: FRAME }), /lost/);
  t.throws(() => keeper.next({ key: 3, buffer: new Uint8Array(3) }), /lost/);
});

t.test('garbage is collected whenever there is enough of it, whatever produced it', async (t) => {
  const SIZE = 8 * 1024 * 1024;
  const text = Buffer.from(answer('x'));
  const large = Buffer.concat([text.subarray(0, -1), Buffer.alloc(SIZE - text.length, ' '), text.subarray(-1)]);
  const parts = [{ backend: 0, pages: [1] }];
  const ways: Readonly<Record<string, (keeper: ListKeeper) => void>> = {
    'answers that were read, and pages that were merged': (keeper) => {
      keeper.read({ key: 1, pieces: [Uint8Array.from(large)], bytes: SIZE, id: ID, kind: 'tools' });
      keeper.merge({ key: 2, kind: 'tools', rules, parts, unavailable: [], frame: FRAME });
      keeper.drop({ keys: [2] });
    },
    'answers that were dropped': (keeper) => {
      keeper.append({ key: 1, pieces: [new Uint8Array(SIZE), new Uint8Array(SIZE)] });
      keeper.drop({ keys: [1] });
    },
    'lists that were given away': (keeper) => {
      const list = { head: ' '.repeat(2 * SIZE), framing: 'message' } as const;
      const { bytes } = keeper.merge({ key: 2, kind: 'tools', rules, parts: [], unavailable: [], frame: list });
      keeper.next({ key: 2, buffer: new Uint8Array(bytes) });
    },
  };
  for (const [what, way] of Object.entries(ways)) {
    let collections = 0;
    const keeper = new ListKeeper(() => (collections += 1));
    const times = (2 * LIST_GARBAGE_BYTES_MAX) / (2 * SIZE);
    for (let time = 0; time < times; time += 1) way(keeper);
    keeper.append({ key: 9, pieces: [] });
    t.equal(collections, 2, what);
  }
});

t.test('a search is kept from step to step, and neither when it is done nor when it is dropped', async (t) => {
  const keeper = new ListKeeper(() => {});
  const text = answer('door', 'window');
  keeper.read({ key: 1, pieces: pieces(text), bytes: text.length, id: ID, kind: 'tools' });
  keeper.catalogue({ key: 2, kind: 'tools', rules, parts: [{ backend: 0, pages: [1] }], unavailable: [] });
  const step = (query: string): string => {
    const found = keeper.find({ key: 2, searchKey: 3, query, toolsMax: 5, frame: FRAME });
    return found === 'unfinished' ? found : Buffer.from(found.buffer).toString();
  };
  // No time is left after one word.
  let nowMs = 0;
  t.intercept(performance, 'now', { value: () => (nowMs += 1_000) });
  t.equal(step('door one two'), 'unfinished');
  t.equal(step('window'), 'unfinished', 'the second word of the first query');
  t.match(step('window'), /"b-door"/, 'which is the one that is answered');
  t.match(step('window'), /"b-window"/, 'a search that is done is not gone on with');
  t.equal(step('door one'), 'unfinished');
  keeper.drop({ keys: [3] });
  t.match(step('window'), /"b-window"/, 'nor one that was dropped');
});
