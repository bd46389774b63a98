// What an allow-list of resources lets through, and how much work a check may cost.
import t from 'tap';
import { listKinds } from '../../src/mcp/list-kinds.js';
import { span, SPAN_LENGTH } from '../../src/mcp/list-page.js';
import { grantByAllowList, isGranted, TEMPLATES_TRIED_MAX } from '../../src/lists/grant.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

const backendWith = (allowed: readonly string[], exposes?: readonly 'tools'[]) =>
  backendOf(
    virtualHostOf({ b: { allowed_resource_names: [...allowed], ...(exposes && { exposes: [...exposes] }) } }),
    'b',
  );

t.test('an entry grants its own URI and what its template makes; other entries may be names', async (t) => {
  const backend = backendWith(['a:b', 'c:{x}', 'a name']);
  t.equal(grantByAllowList(backend, 'a:b'), 'granted');
  t.equal(grantByAllowList(backend, 'c:1'), 'granted');
  t.equal(grantByAllowList(backend, 'd:1'), 'unknown');
  t.equal(grantByAllowList(backendWith([]), 'd:1'), 'granted');
  t.equal(
    grantByAllowList(backendWith([], ['tools']), 'a:b'),
    'refused',
    'where nothing is given nothing is asked for',
  );
});

t.test('a URI is matched against a bounded number of templates', async (t) => {
  const others = Array.from({ length: TEMPLATES_TRIED_MAX }, (_, index) => `${index}:{x}`);
  t.equal(grantByAllowList(backendWith([...others.slice(1), 'c:{x}']), 'c:1'), 'granted');
  t.equal(grantByAllowList(backendWith([...others, 'c:{x}']), 'c:1'), 'unknown');
  t.equal(isGrantedBy([...others.slice(1), 'c:{x}']), true);
  t.equal(isGrantedBy([...others, 'c:{x}']), false);
  t.equal(isGrantedBy([...others, 'c:{x}', 'c:1']), true, 'what needs no search is found all the same');
});

/** Whether a backend's list of these templates, all of the allowed name, grants `c:1`. */
function isGrantedBy(templates: readonly string[]): boolean {
  const spans = new Int32Array(templates.length * SPAN_LENGTH).fill(-1);
  let text = '"allowed"';
  for (const [index, template] of templates.entries()) {
    const row = index * SPAN_LENGTH;
    spans[row + span.nameStart] = 0;
    spans[row + span.nameEnd] = '"allowed"'.length;
    spans[row + span.keyStart] = text.length;
    text += JSON.stringify(template);
    spans[row + span.keyEnd] = text.length;
  }
  const page = { bytes: Buffer.from(text), spans };
  return isGranted({ kind: listKinds.templates, backend: backendWith(['allowed']), pages: [page], uri: 'c:1' });
}
