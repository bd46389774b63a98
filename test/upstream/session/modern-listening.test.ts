// What a backend of MCP 2026-07-28 does not honour of what it was asked to tell.
import t from 'tap';
import { readBackendMessage } from '../../../src/mcp/json-rpc.js';
import { readRefusedSubscriptions } from '../../../src/upstream/session/modern-listening.js';
import { limits } from '../../../src/shared/limits.js';

const URIS = ['a:1', 'a:2', 'a:3'];
const ASKED = { toolsListChanged: true, promptsListChanged: true, x: false, resourceSubscriptions: URIS };

/** @param params of the acknowledgement, as JSON. */
function read(params: string, asked: object = ASKED): { members: string[]; uris: string[] } | undefined {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"${params}}`);
  const told = readRefusedSubscriptions(JSON.stringify(asked), bytes, readBackendMessage(bytes)!);
  return told && { members: [...told.members].sort(), uris: [...told.uris].sort() };
}

const honouring = (notifications: unknown): string => `,"params":${JSON.stringify({ notifications })}`;

t.test('what was asked for and is not confirmed is not honoured', async (t) => {
  t.same(read(honouring({})), { members: ['promptsListChanged', 'toolsListChanged'], uris: URIS });
  t.same(read(honouring({ toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ['a:2'] })), {
    members: ['promptsListChanged'],
    uris: ['a:1', 'a:3'],
  });
  t.same(read(honouring({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: 'all' })), {
    members: [],
    uris: URIS,
  });
  t.same(read(honouring({ toolsListChanged: 'yes', promptsListChanged: true, resourceSubscriptions: [7, ...URIS] })), {
    members: ['toolsListChanged'],
    uris: [],
  });
});

t.test('who confirms all of it, or says nothing of it, is taken to honour it', async (t) => {
  for (const params of [
    honouring({ ...ASKED, more: true }),
    ...['', ',"params":{}', ',"params":{"notifications":null}', ',"params":{"notifications":[]}'],
    honouring({ x: 'x'.repeat(limits.readAtOnceBytesMax) }),
  ])
    t.equal(read(params), undefined, params.slice(0, 60));
  t.equal(read(honouring({}), { x: false }), undefined, 'nothing was asked for');
});
