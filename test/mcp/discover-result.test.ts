// What is read from a backend's result of `server/discover`.
import t from 'tap';
import { capability } from '../../src/mcp/capabilities.js';
import { readDiscoverResult } from '../../src/mcp/initialize-result.js';

const read = (result: string): ReturnType<typeof readDiscoverResult> => readDiscoverResult(Buffer.from(result));

t.test('versions, capabilities, extensions and instructions are found among others', async (t) => {
  const capabilities = '{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{"c":1},"d":7}}';
  const result = `{"resultType":"complete","x":[{}],"supportedVersions":["2026-07-28",7,"2025-11-25"],"capabilities":${capabilities},"instructions":"go"}`;
  t.same(read(result), {
    supportedVersions: ['2026-07-28', '2025-11-25'],
    capabilities: capability.tools | capability.tasksExtension,
    named: [{ name: 'a/b', value: '{"c":1}', isExtension: true }],
    instructions: 'go',
  });
  t.same(read('{"supportedVersions":[]}'), {
    ...{ supportedVersions: [], capabilities: 0, named: undefined, instructions: undefined },
  });
});

t.test('how clients and servers are authorized ends at the gateway, so those extensions are not kept', async (t) => {
  const ended = ['oauth-client-credentials', 'enterprise-managed-authorization', 'tasks'];
  const extensions = Object.fromEntries(ended.map((name) => [`io.modelcontextprotocol/${name}`, {}]));
  const result = { supportedVersions: [], capabilities: { extensions: { ...extensions, 'other/one': {} } } };
  t.same(read(JSON.stringify(result))?.named, [{ name: 'other/one', value: '{}', isExtension: true }]);
});

t.test('anything but a complete result with a list of versions is refused', async (t) => {
  const versions = '"supportedVersions":["2026-07-28"]';
  for (const result of [
    ...['', '[]', 'null', '"x"', '{}', '{"supportedVersions":"2026-07-28"}', '{"supportedVersions":{}}'],
    ...[`{${versions},"resultType":"input_required"}`, `{${versions},"resultType":7}`, `{${versions},${versions}}`],
  ])
    t.equal(read(result), undefined, result);
  const many = JSON.stringify(Array.from({ length: 10_000 }, () => '2026-07-28'));
  const kept = read(`{"supportedVersions":${many}}`)?.supportedVersions.length ?? 0;
  t.ok(kept > 10 && kept < 1_000, 'of very many versions the first are read');
});
