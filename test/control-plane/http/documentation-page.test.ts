import t from 'tap';
import { documentationPage } from '../../../src/control-plane/http/routes/documentation-routes.js';
import { html, textWithCode } from '../../../src/control-plane/http/browser-parts.js';
import { createOpenApiDocument } from '../../../src/control-plane/http/open-api.js';
import { operations } from '../../../src/control-plane/http/operations.js';
import { schemas } from '../../../src/control-plane/http/schemas.js';

t.test('values in a template are escaped, and HTML is not', async (t) => {
  t.equal(html`<b>${'<&">'}</b>`.text, '<b>&lt;&amp;&quot;&gt;</b>');
  t.equal(html`${html`<i></i>`}${[html`a`, html`b`]}${7}`.text, '<i></i>ab7');
  t.equal(textWithCode('a `<b>` c').text, 'a <code>&lt;b&gt;</code> c');
});

t.test('each operation says what it answers when all is well', async (t) => {
  const silent = operations.filter(({ answers }) => !answers.some(({ status }) => status < 400));
  t.same(
    silent.map(({ id }) => id),
    [],
  );
});

t.test('the page has a place for every operation and every schema, and each link leads to one', async (t) => {
  const page = documentationPage(createOpenApiDocument());
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  for (const { id } of Object.values(operations)) t.ok(ids.has(id), id);
  for (const name of Object.keys(schemas)) t.ok(ids.has(name), name);
  for (const [, target = ''] of page.matchAll(/ href="#([^"]+)"/g)) t.ok(ids.has(target), target);
  t.notMatch(page, /undefined|\[object|null,/);
});
